//! What an import tells: one line for each line of the file, and the counts at the end.

/// What became of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A new name.
    Created,
    /// An existing name that now points elsewhere or answers otherwise; its old state is history.
    Updated,
    /// The name was like that already.
    Unchanged,
    /// Not imported, and why.
    Refused(String),
    /// Good, but not imported because other lines of the file are not.
    Held,
}

impl Outcome {
    /// The word in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Refused(_) => "refused",
            Self::Held => "held",
        }
    }
}

/// One line of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Line of the file, from 1.
    pub line: u64,
    /// Domain and name as one path, as far as the line has them.
    pub path: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// Counts of a file, one for each [`Outcome`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// New names.
    pub created: u64,
    /// Changed names.
    pub updated: u64,
    /// Names that were like that already.
    pub unchanged: u64,
    /// Lines that were refused.
    pub refused: u64,
    /// Good lines that were not imported.
    pub held: u64,
}

impl Counts {
    /// Counts a line.
    pub fn add(&mut self, outcome: &Outcome) {
        let count = match outcome {
            Outcome::Created => &mut self.created,
            Outcome::Updated => &mut self.updated,
            Outcome::Unchanged => &mut self.unchanged,
            Outcome::Refused(_) => &mut self.refused,
            Outcome::Held => &mut self.held,
        };
        *count += 1;
    }

    /// All lines.
    pub fn total(&self) -> u64 {
        self.created + self.updated + self.unchanged + self.refused + self.held
    }

    /// Whether every line was imported or had been before.
    pub fn is_clean(&self) -> bool {
        self.refused == 0 && self.held == 0
    }
}

/// Who is told while an import runs.
pub trait Watcher: Send {
    /// A line is decided.
    fn line(&mut self, line: &Line);
    /// Work of this phase so far, of so much in all.
    fn progress(&mut self, phase: &'static str, done: u64, total: u64);
}
