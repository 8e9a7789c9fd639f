//! The targets and what was measured of them: ratios round by round, their median, pass or fail. Pure: it measures
//! nothing and writes no file.

use serde_json::{Value, json};

/// What a figure must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Not less.
    AtLeast(f64),
    /// Not more.
    AtMost(f64),
}

impl Goal {
    /// The number of the goal.
    pub fn number(self) -> f64 {
        match self {
            Self::AtLeast(number) | Self::AtMost(number) => number,
        }
    }

    fn is_met(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(number) => figure >= number,
            Self::AtMost(number) => figure <= number,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::AtLeast(_) => "at_least",
            Self::AtMost(_) => "at_most",
        }
    }
}

/// One measurement, with that of the baseline taken beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// The product's figure.
    pub product: f64,
    /// What it is divided by; none where the figure stands for itself.
    pub baseline: Option<f64>,
}

/// A row of the table of targets.
#[derive(Clone, Debug)]
pub struct Target {
    /// What is done.
    pub name: &'static str,
    /// What it is compared with; empty where the figure stands for itself.
    pub against: &'static str,
    /// Unit of the absolute figures.
    pub unit: &'static str,
    /// What the ratio, or the figure, must be.
    pub goal: Goal,
    /// Measurements; none: the row is pending.
    pub rounds: Vec<Round>,
    /// What a reader should know.
    pub note: String,
}

impl Target {
    /// A row that nothing is known of yet.
    pub fn new(name: &'static str, against: &'static str, unit: &'static str, goal: Goal) -> Self {
        Self { name, against, unit, goal, rounds: Vec::new(), note: String::new() }
    }

    /// Adds a measurement.
    pub fn add(&mut self, product: f64, baseline: Option<f64>) {
        self.rounds.push(Round { product, baseline });
    }

    /// Adds to the note what is not in it yet.
    pub fn remark(&mut self, text: &str) {
        if text.is_empty() || self.note.contains(text) {
            return;
        }
        if !self.note.is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(text);
    }

    /// What the goal is about: the median ratio, or the median figure where there is no baseline.
    pub fn figure(&self) -> Option<f64> {
        median(self.rounds.iter().map(|round| round.baseline.map_or(round.product, |by| round.product / by)))
    }

    /// Median of the product.
    pub fn product(&self) -> Option<f64> {
        median(self.rounds.iter().map(|round| round.product))
    }

    /// Median of the baseline.
    pub fn baseline(&self) -> Option<f64> {
        median(self.rounds.iter().filter_map(|round| round.baseline))
    }

    /// Whether the goal is met; none while the row is pending.
    pub fn pass(&self) -> Option<bool> {
        self.figure().map(|figure| self.goal.is_met(figure))
    }

    /// Whether the goal is about a ratio.
    pub fn is_ratio(&self) -> bool {
        !self.against.is_empty()
    }

    fn to_json(&self) -> Value {
        let figure = self.figure();
        // Of a figure that stands for itself: its share of the goal.
        let ratio = if self.is_ratio() { figure } else { figure.map(|figure| figure / self.goal.number()) };
        json!({
            "name": self.name, "against": self.against, "state": if figure.is_some() { "measured" } else { "pending" },
            "ratio": ratio, "goal": self.goal.number(), "relation": self.goal.word(), "pass": self.pass(),
            "product": self.product(), "baseline": self.baseline(), "unit": self.unit,
            "rounds": self.rounds.iter().map(|round| json!([round.product, round.baseline])).collect::<Vec<_>>(),
            "note": self.note,
        })
    }
}

/// Points of a plot.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// What is plotted.
    pub name: String,
    /// What the abscissa counts.
    pub x: &'static str,
    /// Unit of the ordinate.
    pub unit: &'static str,
    /// In the order of measurement; several of one abscissa are averaged by their median.
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// One point an abscissa, in order.
    pub fn medians(&self) -> Vec<(f64, f64)> {
        let mut places: Vec<f64> = self.points.iter().map(|(x, _)| *x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let at = |x: f64| {
            median(self.points.iter().filter(|(other, _)| other.total_cmp(&x).is_eq()).map(|(_, y)| *y))
        };
        places.into_iter().filter_map(|x| Some((x, at(x)?))).collect()
    }
}

/// Everything that a run of the bench found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Machine, versions, settings.
    pub machine: Value,
    /// Rows of the table.
    pub targets: Vec<Target>,
    /// Plots.
    pub curves: Vec<Curve>,
    /// Lost or wrong data: these, and only these, fail the run.
    pub faults: Vec<String>,
}

impl Report {
    /// A row by its name, made as `row` says when it is new.
    pub fn target(&mut self, row: Target) -> &mut Target {
        let place = self.targets.iter().position(|target| target.name == row.name);
        let place = place.unwrap_or_else(|| {
            self.targets.push(row);
            self.targets.len() - 1
        });
        &mut self.targets[place]
    }

    /// Adds a point to a plot, made when it is new with what its abscissa counts and the unit of its ordinate.
    pub fn point(&mut self, curve: &str, (x, unit): (&'static str, &'static str), at: (f64, f64)) {
        match self.curves.iter_mut().find(|known| known.name == curve) {
            Some(known) => known.points.push(at),
            None => self.curves.push(Curve { name: curve.to_owned(), x, unit, points: vec![at] }),
        }
    }

    /// The document.
    pub fn to_json(&self) -> Value {
        let curves = self.curves.iter().map(|curve| {
            json!({ "name": curve.name, "x": curve.x, "unit": curve.unit, "points": curve.medians() })
        });
        json!({
            "machine": self.machine,
            "targets": self.targets.iter().map(Target::to_json).collect::<Vec<_>>(),
            "curves": curves.collect::<Vec<_>>(),
            "faults": self.faults,
        })
    }
}

/// The middle one, of an even number the mean of the two in the middle.
pub fn median(figures: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(figures[middle]),
        _ => Some(f64::midpoint(figures[middle - 1], figures[middle])),
    }
}

/// A number as people read it: two decimals below ten, none above a hundred, groups of three.
pub fn shown(number: f64) -> String {
    let decimals = if number.abs() < 10.0 { 2 } else { usize::from(number.abs() < 100.0) };
    let text = format!("{number:.decimals$}");
    let (whole, fraction) = text.split_once('.').map_or((&*text, None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    fraction.map_or_else(|| grouped.clone(), |fraction| format!("{grouped}.{fraction}"))
}
