//! One run from its ground to its report: seeds, asks, compares, measures. The ground, tenants with their keys, is
//! given.

use std::time::Duration;

use anyhow::{Context, ensure};
use deadpool_postgres::Object;

use super::compare::Integrity;
use super::drive::{Driven, Work, drive};
use super::durability::Durability;
use super::process::{Usage, find_usage};
use super::purls::Purls;
use super::report::Report;
use super::resolve::Resolve;
use super::seats::{Race, Seats};
use super::votes::Votes;
use super::{Aim, Ground, seed, stored};
use crate::db::Db;

/// What all scenarios need.
#[derive(Debug)]
pub struct Session<'a> {
    /// The server's database.
    pub db: &'a Db,
    /// Where the server is and how hard it is asked.
    pub aim: Aim,
    /// Id of the run.
    pub run: String,
    /// Process of the server, where it is on this machine and known.
    pub server_pid: Option<u32>,
}

/// Resolution lasts so long unless it is told otherwise: nothing else would end it.
const RESOLVE_FOR: Duration = Duration::from_secs(5);

impl Session<'_> {
    /// Everybody casts on every poll of their tenant, `before` of the people before anything is measured.
    pub async fn votes(
        &self,
        ground: &[Ground],
        (participants, polls): (u64, u64),
        before: u64,
        stop: impl Future<Output = ()> + Send,
    ) -> anyhow::Result<Report> {
        let mut halls = Vec::new();
        for tenant in ground {
            let polls = (polls, &seed::settings());
            halls.push(seed::make_hall(&self.aim.address, tenant, participants, polls).await?);
        }
        let mut scenario =
            format!("votes: {participants} participants × {polls} polls × {} tenants", ground.len());
        let mut work = Votes::all(self.aim.address.clone(), halls);
        let (mut acks, end) = (Vec::new(), work.part.end);
        if before > 0 {
            scenario = format!("{scenario}, {before} of each meeting before");
            work.part.end = before.min(participants) * polls * ground.len() as u64;
            let aim = Aim { rate: None, duration: None, ..self.aim.clone() };
            let (driven, voted) = drive(work, &aim, std::future::pending()).await?;
            ensure!(driven.errors.is_empty(), "of those who cast before: {:?}", driven.errors);
            (acks, work) = (driven.acks, voted);
            work.part = work.part.end..end;
        }
        let (mut report, driven, work) = self.measured(scenario, work, stop).await?;
        acks.extend(driven.acks.into_iter().map(|(turn, receipt)| (work.number(turn), receipt)));
        let unknown: Vec<u64> = driven.unknown.iter().map(|turn| work.number(*turn)).collect();
        let mut client = self.client().await?;
        let mut integrity = Integrity::default();
        for (tenant_id, ledger) in work.ledgers(&acks, &unknown) {
            integrity.add(&stored::check_ballots(&mut client, tenant_id, ledger).await?);
        }
        report.integrity = Some(integrity);
        Ok(report)
    }

    /// Everybody wants one of so many seats.
    pub async fn seats(
        &self,
        ground: &Ground,
        (racers, seats): (u64, u64),
        stop: impl Future<Output = ()> + Send,
    ) -> anyhow::Result<Report> {
        let poll = (1, &Seats::settings(seats));
        let hall = seed::make_hall(&self.aim.address, ground, racers, poll).await?;
        let work = Seats::new(self.aim.address.clone(), hall);
        let scenario = format!("seats: {racers} racers for {seats} seats");
        let (mut report, driven, work) = self.measured(scenario, work, stop).await?;
        let mut client = self.client().await?;
        let ledger = work.ledger(&driven.acks, &driven.unknown);
        let integrity = stored::check_ballots(&mut client, ground.tenant_id, ledger).await?;
        let too_late = driven.latencies.count() - driven.acks.len() as u64;
        let counted = stored::count_seats(&client, ground.tenant_id).await?;
        report.race = Some(Race { seats, too_late, sold: integrity.stored, counted });
        report.integrity = Some(integrity);
        Ok(report)
    }

    /// Makes names, in a domain that has `existing` names already.
    pub async fn purls(
        &self,
        ground: &Ground,
        (names, existing): (u64, u64),
        stop: impl Future<Output = ()> + Send,
    ) -> anyhow::Result<Report> {
        ensure!(!ground.domains.is_empty(), "a tenant without a domain");
        let mut scenario = format!("purls: {names} names in {} domains", ground.domains.len());
        if existing > 0 {
            scenario = format!("{scenario} beside {existing}");
            self.make_names(ground, existing).await?;
        }
        let work = Purls { host: self.aim.address.clone(), ground: ground.clone(), names, existing };
        let (mut report, driven, work) = self.measured(scenario, work, stop).await?;
        let ledger = work.ledger(&driven.acks, &driven.unknown);
        let mut client = self.client().await?;
        report.integrity = Some(stored::check_names(&mut client, ground.tenant_id, existing, ledger).await?);
        Ok(report)
    }

    /// Makes `names` names to be resolved.
    pub async fn make_names(&self, ground: &Ground, names: u64) -> anyhow::Result<()> {
        seed::make_names(&self.aim.address, ground, names, &mut self.client().await?).await
    }

    /// Resolves the first `names` names of a domain.
    pub async fn resolve(
        &self,
        domain: &str,
        names: u64,
        stop: impl Future<Output = ()> + Send,
    ) -> anyhow::Result<Report> {
        let scenario = format!("resolve: {names} names");
        let (host, domain) = (self.aim.address.clone(), domain.to_owned());
        let work = Resolve { host, domain, names, requests: u64::MAX };
        let aim = Aim { duration: self.aim.duration.or(Some(RESOLVE_FOR)), ..self.aim.clone() };
        Ok(self.measured_at(&aim, scenario, work, stop).await?.0)
    }

    async fn measured<W: Work>(
        &self,
        scenario: String,
        work: W,
        stop: impl Future<Output = ()> + Send,
    ) -> anyhow::Result<(Report, Driven<W::Ack>, W)> {
        self.measured_at(&self.aim, scenario, work, stop).await
    }

    async fn measured_at<W: Work>(
        &self,
        aim: &Aim,
        scenario: String,
        work: W,
        stop: impl Future<Output = ()> + Send,
    ) -> anyhow::Result<(Report, Driven<W::Ack>, W)> {
        let durability = Durability::read(&self.client().await?).await?;
        let server = || self.server_pid.and_then(find_usage);
        let (own, theirs) = (find_usage(std::process::id()), server());
        let (driven, work) = drive(work, aim, stop).await?;
        let (own_after, theirs_after) = (find_usage(std::process::id()), server());
        let mut report = Report::new(scenario, &self.run, aim, &driven);
        let spent = |before: Option<Usage>, after: Option<Usage>| {
            before.zip(after).map(|(before, after)| after.cpu_seconds - before.cpu_seconds)
        };
        report.durability = Some(durability);
        report.generator_cpu_seconds = spent(own, own_after);
        report.server_cpu_seconds = spent(theirs, theirs_after);
        report.server_peak_bytes = theirs_after.map(|usage| usage.peak_bytes);
        report.explain(aim.threads.min(aim.concurrency));
        Ok((report, driven, work))
    }

    async fn client(&self) -> anyhow::Result<Object> {
        self.db.hot().await.context("the database of the server")
    }
}
