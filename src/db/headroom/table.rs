//! The report as a table with bars, for `resolute headroom`. Pure: plain text, no colours, no terminal.

use std::fmt::Write as _;

use super::report::{Budget, Report};

const BAR_CELLS: u32 = 20;
const HEADINGS: [&str; 8] =
    ["status", "table.column", "used", "left", "last", "remaining", "per day", "ends"];
/// Columns whose text is flush right.
const RIGHT: [bool; 8] = [false, false, false, true, true, true, true, false];

/// Renders a report; ends with a newline. The bar shows what is used, `left` is the share that remains.
pub fn render_table(report: &Report) -> String {
    let mut rows: Vec<[String; 8]> = vec![HEADINGS.map(str::to_owned)];
    for entry in &report.tables {
        rows.push([
            entry.status.as_str().to_owned(),
            name(&entry.table, &entry.column),
            bar(entry.ratio),
            share(entry.ratio),
            entry.last.to_string(),
            entry.remaining.to_string(),
            entry.rate_per_day.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}")),
            entry.exhausted_at.map_or_else(|| "-".to_owned(), |at| at.date().to_string()),
        ]);
    }
    let budgets = [
        ("transaction ids", Some(&report.xid)),
        ("multixact ids", Some(&report.multixact)),
        ("row limit", report.row_limit.as_ref()),
        ("disk limit (bytes)", report.disk.as_ref()),
    ];
    rows.extend(
        budgets.into_iter().filter_map(|(name, budget)| budget.map(|budget| budget_row(name, budget))),
    );

    let mut text = align(&rows);
    for entry in &report.unmeasured {
        let name = name(&entry.table, &entry.column);
        let _ = writeln!(text, "not measured: {name}: {}", entry.reason.as_str());
    }
    let _ = writeln!(text, "status: {}", report.status.as_str());
    text
}

fn name(table: &str, column: &str) -> String {
    if column.is_empty() { format!("{table} (sequence)") } else { format!("{table}.{column}") }
}

fn budget_row(name: &str, budget: &Budget) -> [String; 8] {
    [
        budget.status.as_str().to_owned(),
        name.to_owned(),
        bar(budget.ratio),
        share(budget.ratio),
        budget.used.to_string(),
        budget.remaining.to_string(),
        "-".to_owned(),
        "-".to_owned(),
    ]
}

/// A bar of what is used. Anything used shows, and a full bar means that nothing remains.
fn bar(ratio_left: f64) -> String {
    // Cells are compared rather than computed: a float cannot be cast without truncation.
    let used = 1.0 - ratio_left;
    let is_used = |cell: u32| {
        let is_last = cell + 1 == BAR_CELLS;
        used > f64::from(cell) / f64::from(BAR_CELLS) && (!is_last || ratio_left <= 0.0)
    };
    let cells: String = (0..BAR_CELLS).map(|cell| if is_used(cell) { '#' } else { '.' }).collect();
    format!("[{cells}]")
}

/// A share in per cent, rounded down: 100 % is said only of what is untouched as far as a float can tell.
fn share(ratio: f64) -> String {
    let floored = (ratio * 10_000.0).floor() / 100.0;
    format!("{floored:.2}%")
}

fn align(rows: &[[String; 8]]) -> String {
    let mut widths = [0_usize; 8];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, width), right) in row.iter().zip(widths).zip(RIGHT) {
            let _ = if right { write!(line, "{cell:>width$}  ") } else { write!(line, "{cell:<width$}  ") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
