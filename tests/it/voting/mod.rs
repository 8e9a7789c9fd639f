//! Voting through the real router, on a real database.

mod ahead;
mod barrier;
mod batches;
mod casting;
mod deadlines;
mod hostile;
mod isolation;
mod participants;
mod protocol;
mod proxies;
mod results;
mod seats;
mod stale_statistics;
mod states;
mod together;

use futures_util::future::join_all;
use resolute::voting::ballot::{Signatory, event_of};
use resolute::voting::cast::{Verdict, cast_batch};
use resolute::voting::eligibility::Cast;
use resolute::voting::weight::Weight;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Actor, Answer, TestApp};

/// A meeting in session with its voters and one poll.
pub struct Hall<'a> {
    pub app: &'a TestApp,
    pub chair: Actor,
    pub slug: &'a str,
    pub meeting: String,
    pub voters: Vec<Actor>,
    pub participants: Vec<String>,
}

/// A poll and its options.
#[derive(Clone)]
pub struct Poll {
    pub id: String,
    pub options: Vec<String>,
}

impl Poll {
    pub fn path(&self, rest: &str) -> String {
        format!("/api/v1/polls/{}{rest}", self.id)
    }

    /// A ballot for the option at this place.
    pub fn choose(&self, place: usize) -> Value {
        json!({ "options": [self.options[place]] })
    }

    pub async fn cast(&self, voter: &Actor, place: usize) -> Answer {
        voter.put(&self.path("/ballot"), self.choose(place)).await
    }
}

pub fn number(text: &str) -> i64 {
    text.parse().expect("an id")
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}")).to_owned()
}

/// An instant so many milliseconds from now, by the clock that the database goes by.
pub async fn from_now(app: &TestApp, millis: i64) -> String {
    let sql = "SELECT to_char((clock_timestamp() + $1 * interval '1 ms') AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";
    sqlx::query_scalar(sql).bind(millis).fetch_one(app.db().management()).await.expect("a time")
}

impl<'a> Hall<'a> {
    /// A meeting in session of tenant `acme` with `voters` people of weight one.
    pub async fn seated(app: &'a TestApp, voters: usize) -> Self {
        Self::seated_in(app, "acme", voters).await
    }

    pub async fn seated_in(app: &'a TestApp, slug: &'a str, voters: usize) -> Self {
        Self::seated_with(app, slug, voters, json!({"title": "Assembly"})).await
    }

    pub async fn seated_with(app: &'a TestApp, slug: &'a str, voters: usize, meeting: Value) -> Self {
        let chair = app.tenant(slug).await.editor().await;
        let made = chair.post("/api/v1/meetings", meeting).await.expect(201);
        let meeting = text(&made.json()["id"]);
        let mut hall = Self { app, chair, slug, meeting, voters: Vec::new(), participants: Vec::new() };
        hall.step("preparing").await.expect(200);
        hall.step("active").await.expect(200);
        if voters > 0 {
            let people = (0..voters).map(|number| json!({"name": format!("Voter {number}")})).collect();
            hall.seat(people).await;
        }
        hall
    }

    pub async fn step(&self, state: &str) -> Answer {
        self.chair.post(&format!("/api/v1/meetings/{}/state", self.meeting), json!({ "state": state })).await
    }

    /// Adds people and their tokens.
    pub async fn seat(&mut self, people: Vec<Value>) {
        let path = format!("/api/v1/meetings/{}/participants", self.meeting);
        let added = self.chair.post(&path, json!({ "participants": people })).await.expect(201).json();
        for participant in added["participants"].as_array().expect("participants") {
            self.voters.push(self.app.bearer(&text(&participant["token"])));
            self.participants.push(text(&participant["id"]));
        }
    }

    /// A poll in draft.
    pub async fn draft(&self, titles: &[&str], more: Value) -> Poll {
        let options: Vec<Value> = titles.iter().map(|title| json!({ "title": title })).collect();
        let mut body = json!({"title": "Who?", "ballot_kind": "single_choice", "options": options});
        for (key, value) in more.as_object().expect("an object") {
            body[key] = value.clone();
        }
        let path = format!("/api/v1/meetings/{}/polls", self.meeting);
        let made = self.chair.post(&path, body).await.expect(201).json();
        let options = made["options"].as_array().expect("options");
        Poll { id: text(&made["id"]), options: options.iter().map(|option| text(&option["id"])).collect() }
    }

    /// An open poll.
    pub async fn poll(&self, titles: &[&str], more: Value) -> Poll {
        let poll = self.draft(titles, more).await;
        self.open(&poll).await.expect(200);
        poll
    }

    pub async fn open(&self, poll: &Poll) -> Answer {
        self.chair.post(&poll.path("/open"), json!({})).await
    }

    pub async fn close(&self, poll: &Poll) -> Answer {
        self.chair.post(&poll.path("/close"), json!({})).await
    }

    /// Every voter at once, each for the option that `choice` says.
    pub async fn all_cast(&self, poll: &Poll, choice: impl Fn(usize) -> usize) -> Vec<Answer> {
        join_all(self.voters.iter().enumerate().map(|(at, voter)| poll.cast(voter, choice(at)))).await
    }

    /// A voter's ballot as it comes to the queue, judged when the poll had just opened.
    pub fn judged(&self, poll: &Poll, voter: usize, place: usize) -> Cast {
        let choice = vec![number(&poll.options[place])];
        let signatory = Signatory { record_key: Uuid::from_u128(voter as u128), weight: Weight::ONE };
        Cast {
            participant_id: number(&self.participants[voter]),
            event: event_of((number(&poll.id), 1), signatory, None, &choice),
            choice,
            idempotency_key: None,
            actor_key: None,
            generation: 2,
        }
    }

    /// Stores judged ballots as one batch.
    pub async fn batch(&self, items: &[(&Poll, &Cast)]) -> Vec<Verdict> {
        let tenant_id = self.app.tenant(self.slug).await.id;
        let items: Vec<(i64, &Cast)> = items.iter().map(|(poll, cast)| (number(&poll.id), *cast)).collect();
        let client = self.app.db().hot().await.expect("a connection");
        cast_batch(client, tenant_id, &items).await.expect("a batch")
    }

    /// Rows of `ballots` for the poll, as the database has them.
    pub async fn stored(&self, poll: &Poll) -> i64 {
        let id: i64 = poll.id.parse().expect("an id");
        sqlx::query_scalar("SELECT count(*) FROM ballots WHERE poll_id = $1")
            .bind(id)
            .fetch_one(self.app.db().management())
            .await
            .expect("a count")
    }
}

/// How many of the answers have this status.
pub fn with_status(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status.as_u16() == status).count()
}
