//! Seats of an option: never oversold, first come first served, and whoever comes too late loses nothing else.

use std::time::Duration;

use futures_util::future::{join, join_all};
use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use resolute::voting::cast::Verdict;
use resolute::voting::eligibility::Cast;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use super::{Hall, Poll, number, with_status};
use crate::support::TestApp;
use crate::support::database::TestDatabase;

/// A poll in draft: an option with so many seats, and one that takes all.
async fn draft(hall: &Hall<'_>, seats: u64) -> Poll {
    let options = json!([{"title": "Boat", "seats": seats}, {"title": "Shore"}]);
    hall.draft(&[], json!({"results": "live", "options": options})).await
}

async fn open(hall: &Hall<'_>, seats: u64) -> Poll {
    let poll = draft(hall, seats).await;
    hall.open(&poll).await.expect(200);
    poll
}

/// Seats that the database counts as taken, in order of option.
async fn taken(app: &TestApp, poll: &Poll) -> Vec<i32> {
    sqlx::query_scalar("SELECT taken FROM poll_seats WHERE poll_id = $1 ORDER BY option_id")
        .bind(number(&poll.id))
        .fetch_all(app.db().management())
        .await
        .expect("counters")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_racers_for_the_last_seat_at_two_servers_one_gets_it_a_hundred_times() {
    const SEATS: usize = 50;
    let app = TestApp::start().await;
    let twin = app.twin();
    let hall = Hall::seated(&app, SEATS + 1).await;
    let racer = twin.bearer(hall.voters[SEATS].token());
    for round in 0..100 {
        let poll = open(&hall, 50).await;
        let early = join_all(hall.voters[..SEATS - 1].iter().map(|voter| poll.cast(voter, 0))).await;
        assert_eq!(with_status(&early, 201), SEATS - 1);
        let (here, there) = join(poll.cast(&hall.voters[SEATS - 1], 0), poll.cast(&racer, 0)).await;
        let answers = [here, there];
        assert_eq!((with_status(&answers, 201), with_status(&answers, 409)), (1, 1), "round {round}");
        let late = answers.into_iter().find(|answer| answer.status == 409).expect("one");
        late.expect_problem(409, "option_full");
        assert_eq!(hall.stored(&poll).await, 50);
        assert_eq!(taken(&app, &poll).await, [50]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_at_two_servers_gets_exactly_the_seats_there_are() {
    let app = TestApp::start().await;
    let twin = app.twin();
    let hall = Hall::seated(&app, 120).await;
    let poll = open(&hall, 50).await;
    let answers = join_all(hall.voters.iter().enumerate().map(async |(at, voter)| {
        let voter = if at % 2 == 0 { voter.clone() } else { twin.bearer(voter.token()) };
        poll.cast(&voter, 0).await
    }))
    .await;
    assert_eq!((with_status(&answers, 201), with_status(&answers, 409)), (50, 70));
    assert_eq!((hall.stored(&poll).await, taken(&app, &poll).await), (50, vec![50]));
    let mut places: Vec<i64> = answers
        .iter()
        .filter(|answer| answer.status == 201)
        .map(|answer| answer.json()["index"].as_i64().expect("a place"))
        .collect();
    places.sort_unstable();
    assert_eq!(places, (1..=50).collect::<Vec<_>>(), "who was refused leaves no gap in the log");
    let result = hall.close(&poll).await.expect(200).json();
    assert_eq!(result["options"][0]["votes"]["heads"], 50);
}

#[tokio::test]
async fn whoever_comes_too_late_may_choose_another_option() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let poll = open(&hall, 1).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
    let late = hall.voters[1].with("idempotency-key", "k");
    let refused = poll.cast(&late, 0).await.expect_problem(409, "option_full").json();
    assert_eq!(refused["option"], poll.options[0].as_str());
    let receipt = poll.cast(&late, 1).await.expect(201).json();
    assert_eq!(receipt["index"], 2, "the refusal is not in the log");
    assert_eq!(poll.cast(&late, 1).await.expect(201).json(), receipt, "the refusal did not use the key up");
    let again = poll.cast(&hall.voters[0], 0).await.expect_problem(409, "already_voted").json();
    assert_eq!(again["first"]["index"], 1, "who has a seat is told so, however full it is");
    assert_eq!(taken(&app, &poll).await, [1]);
}

#[tokio::test]
async fn a_seat_is_one_ballot_whatever_it_weighs() {
    let app = TestApp::start().await;
    let mut hall = Hall::seated(&app, 0).await;
    hall.seat(vec![json!({"name": "Heavy", "weight": "1000"}), json!({"name": "Light", "weight": "0.5"})])
        .await;
    let poll = open(&hall, 2).await;
    for voter in &hall.voters {
        poll.cast(voter, 0).await.expect(201);
    }
    let result = hall.close(&poll).await.expect(200).json();
    assert_eq!(result["options"][0]["votes"], json!({"heads": 2, "weight": "1000.500000"}));
}

/// The count of seats is what it is when the lock is granted, not what it was when the statement began to wait.
#[tokio::test]
async fn a_seat_that_is_taken_while_a_ballot_waits_for_the_lock_is_taken() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = open(&hall, 1).await;
    let mut holder = TestDatabase::connect(app.target()).await;
    let mut run = async |sql: String| {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut holder).await.expect("SQL of the test");
    };
    run(format!("BEGIN; SELECT 1 FROM polls WHERE poll_id = {} FOR UPDATE", poll.id)).await;
    let taking = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        run(format!("UPDATE poll_seats SET taken = 1 WHERE poll_id = {}; COMMIT", poll.id)).await;
    };
    join(poll.cast(&hall.voters[0], 0), taking).await.0.expect_problem(409, "option_full");
    assert_eq!(hall.stored(&poll).await, 0);
}

#[tokio::test]
async fn the_database_itself_refuses_one_more_than_there_are() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    open(&hall, 1).await;
    let oversell =
        sqlx::query("UPDATE poll_seats SET taken = seats + 1").execute(app.db().management()).await;
    assert!(oversell.expect_err("refused").to_string().contains("poll_seats_never_oversold"));
}

#[tokio::test]
async fn seats_need_live_results_and_freeze_with_the_poll() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let path = format!("/api/v1/meetings/{}/polls", hall.meeting);
    let hidden = json!({
        "title": "Who?", "ballot_kind": "single_choice", "options": [{"title": "A"}, {"title": "B", "seats": 2}],
    });
    let refused = hall.chair.post(&path, hidden.clone()).await.expect_problem(422, "invalid");
    assert_eq!(refused.pointers(), ["/options/1/seats"]);
    let poll = draft(&hall, 1).await;
    let read = hall.chair.get(&poll.path("")).await.expect(200);
    assert_eq!(
        (&read.json()["options"][0]["seats"], &read.json()["options"][1]["seats"]),
        (&json!(1), &Value::Null)
    );
    let mut changed = hidden;
    changed["results"] = json!("live");
    let chair = hall.chair.with("if-match", read.header("etag"));
    let seats = |poll: &Value| poll["options"][1]["seats"].clone();
    assert_eq!(seats(&chair.put(&poll.path(""), changed.clone()).await.expect(200).json()), 2);
    hall.open(&poll).await.expect(200);
    let opened = hall.voters[0].get(&poll.path("")).await.expect(200);
    assert_eq!(seats(&opened.json()), 2, "voters see how many there are");
    let chair = hall.chair.with("if-match", opened.header("etag"));
    chair.put(&poll.path(""), changed).await.expect_problem(409, "poll_not_a_draft");
    let event: String = sqlx::query_scalar("SELECT body FROM poll_events WHERE kind = 'opened'")
        .fetch_one(app.db().management())
        .await
        .expect("an event");
    assert!(event.contains(r#""seats":2"#), "the opening hash covers seats: {event}");
}

/// What a batch must do, in words that know no SQL: in order of place, whoever has not voted takes a seat if there is one.
fn model(free: &mut [Option<i32>], voted: &mut [bool], wishes: &[(usize, usize)]) -> Vec<&'static str> {
    let of = |&(voter, option): &(usize, usize)| -> &'static str {
        if voted[voter] {
            return "before";
        }
        match &mut free[option] {
            Some(0) => return "full",
            Some(left) => *left -= 1,
            None => {}
        }
        voted[voter] = true;
        "accepted"
    };
    wishes.iter().map(of).collect()
}

#[tokio::test]
async fn a_batch_gives_seats_in_order_of_place_as_the_model_does() {
    const VOTERS: usize = 24;
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, VOTERS).await;
    let mut runner = TestRunner::deterministic();
    // A round: seats of two options (the third takes all), then batches in which each voter is once at most.
    let order = proptest::sample::subsequence((0..VOTERS).collect::<Vec<_>>(), 1..=VOTERS).prop_shuffle();
    let batch = (order, vec(0_usize..3, VOTERS));
    let rounds = ((1_i32..8, 1_i32..8), vec(batch, 1..5));
    for _ in 0..25 {
        let ((one, two), batches) = rounds.new_tree(&mut runner).expect("a round").current();
        let options = json!([{"title": "A", "seats": one}, {"title": "B", "seats": two}, {"title": "C"}]);
        let poll = hall.poll(&[], json!({"results": "live", "options": options})).await;
        let (mut free, mut voted) = ([Some(one), Some(two), None], [false; VOTERS]);
        for (voters, choices) in batches {
            let wishes: Vec<(usize, usize)> = voters.into_iter().zip(choices).collect();
            let items: Vec<Cast> =
                wishes.iter().map(|(voter, option)| hall.judged(&poll, *voter, *option)).collect();
            let items: Vec<(&Poll, &Cast)> = items.iter().map(|item| (&poll, item)).collect();
            let verdicts = hall.batch(&items).await;
            let seen: Vec<&str> = verdicts
                .iter()
                .map(|verdict| match verdict {
                    Verdict::Accepted(..) => "accepted",
                    Verdict::Before(_) => "before",
                    Verdict::OptionFull => "full",
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(seen, model(&mut free, &mut voted, &wishes), "{wishes:?} of {one} and {two}");
        }
        let left: Vec<i32> = free.iter().flatten().copied().collect();
        let given = taken(&app, &poll).await;
        assert_eq!([one - given[0], two - given[1]], [left[0], left[1]]);
    }
}
