//! Migrations are embedded by a macro; cargo must rebuild when one is added or changed.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
