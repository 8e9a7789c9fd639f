//! Ballots of several polls in one transaction: each poll judges its own, and none pays for another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use resolute::config::Config;
use resolute::db;
use resolute::voting::cast::Verdict;
use resolute::voting::eligibility::Cast;
use serde_json::json;

use super::batches::held;
use super::{Hall, Poll, number, with_status};
use crate::support::TestApp;

fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted(index, _) => format!("accepted {index}"),
        Verdict::Before(ballot) => format!("before {}", ballot.index),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn every_poll_of_a_batch_judges_its_own_ballots() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 3).await;
    let seats = json!({"options": [{"title": "A", "seats": 1}, {"title": "B"}], "results": "live"});
    let (first, full) = (hall.poll(&["A", "B"], json!({})).await, hall.poll(&[], seats).await);
    let (closed, draft) = (hall.poll(&["A"], json!({})).await, hall.draft(&["A"], json!({})).await);
    let last = hall.poll(&["A"], json!({})).await;
    first.cast(&hall.voters[1], 0).await.expect(201);
    hall.close(&closed).await.expect(200);
    let gone = Poll { id: "999999".to_owned(), options: vec!["1".to_owned()] };
    let on = |poll, voter, place| (poll, hall.judged(poll, voter, place));
    let outdated = Cast { generation: 1, ..hall.judged(&first, 2, 0) };
    // Descending, so that the order of the locks is not that of the items.
    let items = [
        on(&last, 0, 0),
        on(&last, 1, 0),
        on(&gone, 0, 0),
        (&draft, Cast { generation: 1, ..hall.judged(&draft, 0, 0) }),
        on(&closed, 0, 0),
        on(&full, 0, 0),
        on(&full, 1, 0),
        on(&full, 2, 1),
        on(&first, 0, 0),
        on(&first, 1, 1),
        (&first, outdated),
    ];
    let items: Vec<(&Poll, &Cast)> = items.iter().map(|(poll, item)| (*poll, item)).collect();
    let verdicts: Vec<String> = hall.batch(&items).await.iter().map(word).collect();
    let expected = [
        "accepted 1",
        "accepted 2",
        "NotOpen",
        "NotOpen",
        "Closed",
        "accepted 1",
        "OptionFull",
        "accepted 2",
        "accepted 2",
        "before 1",
        "Stale",
    ];
    assert_eq!(verdicts, expected);
    for (poll, ballots) in [(&first, 2), (&full, 2), (&closed, 0), (&draft, 0), (&last, 2)] {
        assert_eq!(hall.stored(poll).await, ballots);
    }
    for poll in [&first, &full, &last] {
        let result = hall.close(poll).await.expect(200).json();
        assert_eq!(result["record"]["closed_event_index"], 3, "each log grew by its own ballots");
    }
}

#[tokio::test]
async fn an_interrupted_meeting_and_a_deadline_refuse_their_own_polls_only() {
    let app = TestApp::start().await;
    let (hall, other) = (Hall::seated(&app, 1).await, Hall::seated(&app, 1).await);
    let (late, poll) = (hall.poll(&["A"], json!({})).await, hall.poll(&["A"], json!({})).await);
    let interrupted = other.poll(&["A"], json!({})).await;
    other.step("suspended").await.expect(200);
    sqlx::query("UPDATE polls SET closes_at = clock_timestamp() WHERE poll_id = $1")
        .bind(number(&late.id))
        .execute(app.db().management())
        .await
        .expect("a deadline");
    let items = [
        (&late, hall.judged(&late, 0, 0)),
        (&poll, hall.judged(&poll, 0, 0)),
        (&interrupted, other.judged(&interrupted, 0, 0)),
    ];
    let verdicts = hall.batch(&items.each_ref().map(|(poll, item)| (*poll, item))).await;
    let words: Vec<String> = verdicts.iter().map(word).collect();
    assert_eq!(words, ["Closed", "accepted 1", "Suspended"]);
}

/// Everybody votes on every poll at once, through two servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_over_many_polls_is_written_together_and_every_log_is_whole() {
    let app = TestApp::start().await;
    let twin = app.twin();
    let hall = Hall::seated(&app, 30).await;
    let elsewhere: Vec<_> = hall.voters.iter().map(|voter| twin.bearer(voter.token())).collect();
    let polls: Vec<Poll> = join_all((0..20).map(|_| hall.poll(&["A", "B"], json!({})))).await;
    let casts = polls.iter().enumerate().flat_map(|(at, poll)| {
        let voters = hall.voters.iter().zip(&elsewhere).enumerate();
        voters.map(move |(voter, (here, there))| {
            let by = if (voter + at) % 2 == 0 { here } else { there };
            async move { poll.cast(by, voter % 2).await }
        })
    });
    let answers = join_all(casts).await;
    assert_eq!(with_status(&answers, 201), 600);
    for server in [&app, &twin] {
        let stats = server.app.voting.casting.stats(None);
        assert_eq!(stats.items, 300);
        assert!(stats.batches < 200, "several polls share a transaction: {stats:?}");
    }
    for poll in &polls {
        let result = hall.close(poll).await.expect(200).json();
        assert_eq!(
            (&result["cast"]["heads"], &result["record"]["closed_event_index"]),
            (&json!(30), &json!(31))
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_poll_whose_lock_is_held_holds_the_others_up_for_a_moment_only() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 20).await;
    let polls: Vec<Poll> = join_all((0..4).map(|_| hall.poll(&["A"], json!({})))).await;
    for poll in &polls {
        poll.cast(&hall.voters[0], 0).await.expect(201);
    }
    let begun = Instant::now();
    let timed = async |poll: &Poll| {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let casts = hall.voters[1..].iter().enumerate().map(|(at, voter)| async move {
            tokio::time::sleep(Duration::from_millis(10 * u64::try_from(at).expect("small"))).await;
            poll.cast(voter, 0).await
        });
        (join_all(casts).await, begun.elapsed())
    };
    let all = join_all(polls.iter().map(timed));
    let (answers, ()) = join(all, held(&app, &polls[0], Duration::from_secs(3))).await;
    for (at, (answers, time)) in answers.iter().enumerate() {
        assert_eq!(with_status(answers, 201), 19);
        assert_eq!(*time >= Duration::from_secs(3), at == 0, "poll {at} was ready after {time:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_poison_item_of_one_poll_costs_the_others_nothing() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 10).await;
    let polls: Vec<Poll> = join_all((0..3).map(|_| hall.poll(&["A"], json!({})))).await;
    let tenant_id = app.tenant("acme").await.id;
    let casting = &app.app.voting.casting;
    let items = polls.iter().enumerate().flat_map(|(at, poll)| {
        let hall = &hall;
        (0..10).map(move |voter| {
            let mut item = hall.judged(poll, voter, 0);
            // Longer than the table allows; no route lets it through.
            item.idempotency_key = ((at, voter) == (1, 4)).then(|| "k".repeat(300));
            (number(&poll.id), item)
        })
    });
    let casts = items.map(|(poll_id, item)| async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        casting.submit(&(tenant_id, poll_id), Arc::new(item)).await
    });
    // The first lane waits for one poll, and the others gather.
    let (answers, ()) = join(join_all(casts), held(&app, &polls[0], Duration::from_millis(500))).await;
    for (at, answer) in answers.iter().enumerate() {
        match answer {
            Ok(Verdict::Accepted(..)) => assert_ne!(at, 14),
            Err(db::Error::CheckViolation { .. }) => assert_eq!(at, 14),
            other => panic!("{at}: {other:?}"),
        }
    }
    for (poll, events) in polls.iter().zip([11, 10, 11]) {
        let result = hall.close(poll).await.expect(200).json();
        assert_eq!(result["record"]["closed_event_index"], events);
    }
}

/// Behind a poll that waits for its lock alone, too, nobody waits longer than is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_waits_behind_a_locked_poll_is_sent_away_in_time() {
    let mut config = Config::default();
    config.write.queue_wait_ms = 400;
    let app = TestApp::with_config(config).await;
    let hall = Hall::seated(&app, 2).await;
    let polls = [hall.poll(&["A"], json!({})).await, hall.poll(&["A"], json!({})).await];
    let [locked, free] = &polls;
    let at = async |millis: u64, poll: &Poll, voter: usize| {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        let begun = Instant::now();
        (poll.cast(&hall.voters[voter], 0).await, begun.elapsed())
    };
    // The last comes while the first of its poll waits for the lock, in a lane or alone.
    let casts = join(join(at(100, locked, 0), at(100, free, 0)), at(450, locked, 1));
    let ((((first, _), (other, _)), (late, time)), ()) =
        join(casts, held(&app, locked, Duration::from_secs(2))).await;
    first.expect(201);
    other.expect(201);
    late.expect_problem(503, "unavailable");
    assert!(time < Duration::from_secs(1), "{time:?}");
    assert_eq!(hall.stored(locked).await, 1);
}
