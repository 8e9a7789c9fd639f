//! The one task per process that measures on a schedule and keeps the last result.
//!
//! Requests read what is kept here and never wait for a measurement. A failed measurement is logged and
//! tried again at the next tick; it does not end the task.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::export::Exporter;
use super::health::Health;
use super::measure::{MeasureError, measure};
use super::report::Report;
use super::samples;
use super::settings::Settings;

/// A measurement that takes longer is given up, so that a hanging connection cannot hold the task.
const LONGEST_MEASUREMENT: Duration = Duration::from_secs(30);

/// Measures and keeps the last result. Shared by the task, the endpoint and nothing else.
#[derive(Debug)]
pub struct Monitor {
    pool: PgPool,
    settings: Settings,
    latest: watch::Sender<Latest>,
    exporter: Mutex<Exporter>,
}

#[derive(Debug, Clone, Default)]
struct Latest {
    report: Option<(Arc<Report>, Instant)>,
    last_attempt_failed: bool,
}

impl Monitor {
    /// A monitor that has measured nothing yet.
    pub fn new(pool: PgPool, settings: Settings) -> Self {
        let latest = watch::Sender::new(Latest::default());
        Self { pool, settings, latest, exporter: Mutex::default() }
    }

    /// Measures now and then once per interval, until it is dropped. Never returns.
    pub async fn run(&self) {
        let mut ticks = tokio::time::interval(self.settings.interval.max(Duration::from_secs(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.measure_once().await {
                tracing::error!(error = &error as &dyn std::error::Error, "headroom was not measured");
            }
        }
    }

    /// Measures, keeps the result and this hour's samples, and sets the metrics.
    pub async fn measure_once(&self) -> Result<Arc<Report>, MeasureError> {
        let measured = tokio::time::timeout(LONGEST_MEASUREMENT, measure(&self.pool, &self.settings))
            .await
            .unwrap_or(Err(MeasureError::TimedOut(LONGEST_MEASUREMENT)));
        let report = match measured {
            Ok(report) => Arc::new(report),
            Err(error) => {
                self.latest.send_modify(|latest| latest.last_attempt_failed = true);
                return Err(error);
            }
        };
        if let Ok(mut exporter) = self.exporter.lock() {
            exporter.export(&report);
        }
        self.latest.send_replace(Latest {
            report: Some((Arc::clone(&report), Instant::now())),
            last_attempt_failed: false,
        });
        // A read-only database can still be measured; only the rate suffers.
        let kept = tokio::time::timeout(LONGEST_MEASUREMENT, samples::insert_samples(&self.pool, &report));
        match kept.await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "headroom samples were not kept"),
            Err(_) => tracing::warn!("headroom samples were not kept in time"),
        }
        Ok(report)
    }

    /// The last result and how far it can be relied on. Never waits.
    pub fn health(&self) -> Health {
        let latest = self.latest.borrow();
        let report = latest.report.as_ref().map(|(report, at)| (Arc::clone(report), at.elapsed()));
        Health::of(report, latest.last_attempt_failed, self.settings.interval)
    }
}
