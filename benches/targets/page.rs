//! The report as a page that needs nothing else: a table, a bar for each row, the curves as SVG.

use std::fmt::Write;

use super::report::{Curve, Goal, Report, Target, shown};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}\
table{border-collapse:collapse;width:100%}td,th{padding:.35rem .6rem;border-bottom:1px solid #ddd;text-align:left}\
td.n{text-align:right;font-variant-numeric:tabular-nums}.pass{color:#17692f}.miss{color:#a3202a}.pending{color:#777}\
svg{background:#fafafa;margin:.5rem 0}svg text{font:12px system-ui,sans-serif}pre{background:#f4f4f4;padding:.6rem;overflow:auto}";

/// The whole page.
pub fn render(report: &Report) -> String {
    let mut page = String::new();
    let machine = serde_json::to_string_pretty(&report.machine).unwrap_or_default();
    let _ = write!(
        page,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>resolute: benchmark</title><style>{STYLE}</style>\
         <h1>resolute: benchmark</h1><p>Ratios of one run on one machine: baseline and product in turn, medians of the rounds.</p>"
    );
    for fault in &report.faults {
        let _ = write!(page, "<p class=\"miss\"><b>Lost or wrong data:</b> {}</p>", escape(fault));
    }
    page +=
        "<h2>Targets</h2><table><tr><th>work<th>against<th>product<th>baseline<th>figure<th>goal<th></tr>";
    for target in &report.targets {
        row(&mut page, target);
    }
    page += "</table><h2>Each target as a share of its goal</h2>";
    page += &bars(&report.targets);
    page += "<h2>Curves</h2>";
    for curve in &report.curves {
        let _ = write!(page, "<h3>{}</h3>{}", escape(&curve.name), plot(curve));
    }
    let _ = write!(page, "<h2>Machine</h2><pre>{}</pre></html>", escape(&machine));
    page
}

fn row(page: &mut String, target: &Target) {
    let number = |number: Option<f64>| number.map_or_else(|| "–".to_owned(), shown);
    let (class, word) = match target.pass() {
        Some(true) => ("pass", "pass"),
        Some(false) => ("miss", "misses"),
        None => ("pending", "pending"),
    };
    let sign = if matches!(target.goal, Goal::AtLeast(_)) { "≥" } else { "≤" };
    let unit = if target.is_ratio() { "×" } else { target.unit };
    let _ = write!(
        page,
        "<tr><td>{}<td>{}<td class=\"n\">{} {}<td class=\"n\">{}<td class=\"n\">{} {unit}<td class=\"n\">{sign} {} {unit}\
         <td class=\"{class}\">{word} {}</tr>",
        escape(target.name),
        escape(target.against),
        number(target.product()),
        target.unit,
        number(target.baseline()),
        number(target.figure()),
        shown(target.goal.number()),
        escape(&target.note),
    );
}

/// One bar a row, and one dot a round: where the line is, the goal is met exactly; to its right it is met.
fn bars(targets: &[Target]) -> String {
    const WIDTH: f64 = 420.0;
    const LEFT: f64 = 330.0;
    let height = 26 * targets.len() + 10;
    let mut svg = format!("<svg width=\"900\" height=\"{height}\" role=\"img\">");
    // Better is to the right, whichever way the goal goes; twice the goal fills the bar.
    let share = |target: &Target, figure: f64| match target.goal {
        Goal::AtLeast(goal) => (figure / goal).clamp(0.0, 2.0) / 2.0,
        Goal::AtMost(goal) => (goal / figure.max(f64::MIN_POSITIVE)).clamp(0.0, 2.0) / 2.0,
    };
    for (place, target) in targets.iter().enumerate() {
        let y = 26 * place + 8;
        let _ = write!(svg, "<text x=\"0\" y=\"{}\">{}</text>", y + 13, escape(target.name));
        let Some(figure) = target.figure() else {
            let _ = write!(svg, "<text x=\"{LEFT}\" y=\"{}\" fill=\"#777\">pending</text>", y + 13);
            continue;
        };
        let colour = if target.pass() == Some(true) { "#7fbf8f" } else { "#d98a8f" };
        let width = WIDTH * share(target, figure);
        let _ = write!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"16\" fill=\"{colour}\"/>"
        );
        for round in &target.rounds {
            let each = round.baseline.map_or(round.product, |by| round.product / by);
            let x = LEFT + WIDTH * share(target, each);
            let _ = write!(svg, "<circle cx=\"{x:.1}\" cy=\"{}\" r=\"3\" fill=\"#333\"/>", y + 8);
        }
    }
    let goal = LEFT + WIDTH / 2.0;
    let _ = write!(
        svg,
        "<line x1=\"{goal}\" x2=\"{goal}\" y1=\"0\" y2=\"{height}\" stroke=\"#333\" stroke-dasharray=\"4 3\"/></svg>"
    );
    svg
}

/// Points with their numbers are only drawn where there is room.
const DOTS: usize = 16;

/// What the curve's name says, the abscissa by doublings unless it is time.
fn plot(curve: &Curve) -> String {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 200.0;
    const LEFT: f64 = 80.0;
    let points = curve.medians();
    let most = points.iter().map(|(_, y)| *y).fold(1.0, f64::max);
    let scaled = |x: f64| if curve.x == "seconds" { x } else { x.max(1.0).log2() };
    let last = points.last().map_or(1.0, |(x, _)| scaled(*x).max(1.0));
    let at =
        |(x, y): (f64, f64)| (LEFT + (WIDTH - 60.0) * scaled(x) / last, 20.0 + HEIGHT * (1.0 - y / most));
    let mut svg = String::from(
        "<svg width=\"760\" height=\"270\" role=\"img\"><polyline fill=\"none\" stroke=\"#2a6\" points=\"",
    );
    for point in &points {
        let (x, y) = at(*point);
        let _ = write!(svg, "{x:.1},{y:.1} ");
    }
    svg += "\"/>";
    let every = points.len().div_ceil(DOTS).max(1);
    for point in points.iter().step_by(every) {
        let (x, y) = at(*point);
        let _ = write!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/><text x=\"{x:.1}\" y=\"240\" text-anchor=\"middle\">{}</text>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            point.0,
            y - 8.0,
            shown(point.1)
        );
    }
    let middle = LEFT + (WIDTH - 60.0) / 2.0;
    let _ = write!(
        svg,
        "<text x=\"0\" y=\"120\">{}</text><text x=\"{middle}\" y=\"262\" text-anchor=\"middle\">{}</text></svg>",
        escape(curve.unit),
        escape(curve.x)
    );
    svg
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
