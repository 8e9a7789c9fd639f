//! The metrics of the queues, with their handles looked up once.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use super::Work;
use super::stats::Depth;
use super::tenant::Taken;
use crate::telemetry::metrics::Metric;

const ITEMS: &str = "resolute_batch_items";
const WAIT_SECONDS: &str = "resolute_batch_wait_seconds";
const FLUSHES: &str = "resolute_batch_flushes_total";
const QUEUED: &str = "resolute_batch_queued";
const QUEUED_BYTES: &str = "resolute_batch_queued_bytes";
const QUEUED_PEAK: &str = "resolute_batch_queued_peak";
const REFUSED: &str = "resolute_batch_refused_total";
const REPEATED: &str = "resolute_batch_repeated_total";

/// In the order of docs/metrics.md.
pub const METRICS: &[Metric] = &[
    Metric::sizes(ITEMS, "Items of a batch, by queue."),
    Metric::seconds(WAIT_SECONDS, "Time from an item's arrival to the start of its batch, by queue."),
    Metric::counter(FLUSHES, "Batches, by queue and by what ended them: size, or that nobody else waited."),
    Metric::gauge(QUEUED, "Items that wait, by queue."),
    Metric::gauge(QUEUED_BYTES, "Bytes that wait, by queue."),
    Metric::gauge(QUEUED_PEAK, "Most items that ever waited since the start, by queue."),
    Metric::counter(REFUSED, "Items that were not taken, by queue and reason (full, late)."),
    Metric::counter(REPEATED, "Batches run again, by queue and reason (conflict, halved, parted)."),
];

/// Handles of one queue.
pub(super) struct Meters {
    items: Histogram,
    wait: Histogram,
    by_size: Counter,
    by_idleness: Counter,
    queued: Gauge,
    queued_bytes: Gauge,
    peak: Gauge,
    /// Refused: a bound was reached.
    pub full: Counter,
    /// Refused: waited too long.
    pub late: Counter,
    /// Run again because PostgreSQL asked for it.
    pub retried: Counter,
    /// Run again in halves.
    pub halved: Counter,
    /// Run again a lock row each.
    pub parted: Counter,
}

impl Meters {
    pub fn new(queue: &'static str) -> Self {
        Self {
            items: histogram!(ITEMS, "queue" => queue),
            wait: histogram!(WAIT_SECONDS, "queue" => queue),
            by_size: counter!(FLUSHES, "queue" => queue, "reason" => "size"),
            by_idleness: counter!(FLUSHES, "queue" => queue, "reason" => "idle"),
            queued: gauge!(QUEUED, "queue" => queue),
            queued_bytes: gauge!(QUEUED_BYTES, "queue" => queue),
            peak: gauge!(QUEUED_PEAK, "queue" => queue),
            full: counter!(REFUSED, "queue" => queue, "reason" => "full"),
            late: counter!(REFUSED, "queue" => queue, "reason" => "late"),
            retried: counter!(REPEATED, "queue" => queue, "reason" => "conflict"),
            halved: counter!(REPEATED, "queue" => queue, "reason" => "halved"),
            parted: counter!(REPEATED, "queue" => queue, "reason" => "parted"),
        }
    }

    pub fn taken<W: Work>(&self, taken: &Taken<W>, most: usize) {
        let Some(oldest) = taken.batch.iter().map(|(_, waiting)| waiting.since).min() else { return };
        self.items.record(number(taken.batch.len()));
        self.wait.record(oldest.elapsed().as_secs_f64());
        if taken.batch.len() == most { &self.by_size } else { &self.by_idleness }.increment(1);
    }

    pub fn depth(&self, depth: Depth) {
        self.queued.set(number(depth.items));
        self.queued_bytes.set(number(depth.bytes));
        self.peak.set(number(depth.peak_items));
    }
}

fn number(value: usize) -> f64 {
    f64::from(u32::try_from(value).unwrap_or(u32::MAX))
}
