//! What meetings, participants, polls, ballots and results look like in bodies and answers. Every word comes from
//! `model`, so a new state cannot be missing here.

use serde_json::{Value, json};

use crate::http::describe::Schema;
use crate::http::schema::{
    about, array, body, id, instant, integer, nullable, object, page, reference, sha256, string, text, words,
};
use crate::voting::model::{BallotKind, MeetingState, PollState, ResultState, ResultsVisibility, Secrecy};
use crate::voting::participants::MOST_AT_ONCE;
use crate::voting::rules::{MOST_PROXIES, MOST_SEATS};

/// The texts of all values of a type of `model`.
macro_rules! words_of {
    ($name:ident) => {
        words(&$name::ALL.iter().map(|value| value.as_str()).collect::<Vec<_>>())
    };
}

/// A new meeting.
pub const NEW_MEETING: Schema = Schema::new("NewMeeting", || {
    let proxies = about(
        nullable(integer(0, Some(MOST_PROXIES.into()))),
        "For how many others one participant may cast; default: 0.",
    );
    let members = json!({"title": text(1, 300), "proxies_per_holder": proxies});
    body(&["title"], members, json!({"title": "Annual meeting", "proxies_per_holder": 2}))
});

/// A meeting.
pub const MEETING: Schema = Schema::new("Meeting", || {
    object(json!({
        "id": id(),
        "title": string(),
        "state": words_of!(MeetingState),
        "proxies_per_holder": integer(0, None),
        "created_at": instant(),
        "updated_at": instant(),
    }))
});

/// A page of meetings.
pub const MEETING_PAGE: Schema = Schema::new("MeetingPage", || page(reference(MEETING)));

/// The state that a meeting shall have.
pub const MEETING_STEP: Schema = Schema::new("MeetingStep", || {
    body(&["state"], json!({"state": words_of!(MeetingState)}), json!({"state": "preparing"}))
});

/// One participant to add, or many.
pub const NEW_PARTICIPANTS: Schema = Schema::new("NewParticipants", || {
    let many = array(new_participant(), 1, u64::try_from(MOST_AT_ONCE).ok());
    let many =
        body(&["participants"], json!({"participants": many}), json!({"participants": [{"name": "Ada"}]}));
    let example = json!({"participants": [{"name": "Ada", "weight": "1.75"}, {"name": "Grace"}]});
    json!({"oneOf": [new_participant(), many], "examples": [example]})
});

/// The participants that were added: one as an object of its own, many in a list.
pub const ADDED_PARTICIPANTS: Schema = Schema::new("AddedParticipants", || {
    let added = || {
        let mut members = participant_members();
        members["token"] = ballot_token();
        object(members)
    };
    json!({"oneOf": [added(), object(json!({"participants": array(added(), 1, None)}))]})
});

/// A participant.
pub const PARTICIPANT: Schema = Schema::new("Participant", || {
    let mut members = participant_members();
    members["proxy"] = about(nullable(id()), "The participant who may cast for this one.");
    members["created_at"] = instant();
    members["removed_at"] = nullable(instant());
    object(members)
});

/// A page of the participants of a meeting.
pub const PARTICIPANT_PAGE: Schema = Schema::new("ParticipantPage", || page(reference(PARTICIPANT)));

/// A ballot token, shown this once.
pub const TOKEN: Schema = Schema::new("BallotToken", || object(json!({"id": id(), "token": ballot_token()})));

/// Who shall cast for somebody.
pub const PROXY: Schema = Schema::new("Proxy", || {
    body(
        &["holder"],
        json!({"holder": about(id(), "A participant of the same meeting.")}),
        json!({"holder": "43"}),
    )
});

/// The settings of a poll.
pub const POLL_SETTINGS: Schema = Schema::new("PollSettings", || {
    let seats = about(
        nullable(integer(1, Some(MOST_SEATS.into()))),
        "Ballots it takes; default: as many as come. Needs live results.",
    );
    let members = json!({"title": text(1, 500), "seats": seats});
    let option = body(&["title"], members, json!({"title": "North", "seats": 50}));
    body(
        &["title", "ballot_kind", "options"],
        json!({
            "title": text(1, 500),
            "description": nullable(text(0, 20_000)),
            "ballot_kind": words_of!(BallotKind),
            "secrecy": nullable(words_of!(Secrecy)),
            "results": about(nullable(words_of!(ResultsVisibility)), "Default: hidden."),
            "closes_at": nullable(instant()),
            "options": about(array(option, 1, Some(200)), "Each title once."),
        }),
        json!({
            "title": "Where shall we meet?", "ballot_kind": "single_choice",
            "options": [{"title": "North"}, {"title": "South"}],
        }),
    )
});

/// A poll.
pub const POLL: Schema = Schema::new("Poll", || {
    object(json!({
        "id": id(),
        "meeting": id(),
        "title": string(),
        "description": string(),
        "ballot_kind": words_of!(BallotKind),
        "secrecy": words_of!(Secrecy),
        "results": words_of!(ResultsVisibility),
        "options": array(object(json!({"id": id(), "title": string(), "seats": nullable(integer(1, None))})), 1, None),
        "state": words_of!(PollState),
        "result_state": words_of!(ResultState),
        "round": integer(1, None),
        "closes_at": nullable(instant()),
        "opened_at": nullable(instant()),
        "closed_at": nullable(instant()),
        "opening_hash": nullable(sha256()),
        "electorate_hash": nullable(sha256()),
        "created_at": instant(),
    }))
});

/// A page of the polls of a meeting.
pub const POLL_PAGE: Schema = Schema::new("PollPage", || page(reference(POLL)));

/// A later deadline.
pub const DEADLINE: Schema = Schema::new("Deadline", || {
    let members = json!({"closes_at": about(instant(), "In the future, and after the present one.")});
    body(&["closes_at"], members, json!({"closes_at": "2027-03-01T18:00:00+01:00"}))
});

/// A ballot.
pub const BALLOT: Schema = Schema::new("Ballot", || {
    let members = json!({"options": about(array(id(), 1, Some(1)), "The option chosen.")});
    body(&["options"], members, json!({"options": ["21"]}))
});

/// What a voter keeps.
pub const RECEIPT: Schema = Schema::new("Receipt", || {
    object(json!({
        "poll": id(),
        "round": integer(1, None),
        "index": about(integer(0, None), "Its place in the log of the round."),
        "event_hash": sha256(),
        "event": about(string(), "The canonical text (RFC 8785) that was hashed."),
        "options": array(id(), 1, None),
        "cast_at": instant(),
    }))
});

/// A counted result.
pub const RESULT: Schema = Schema::new("Result", counted);

/// A counted result, or the numbers so far of a poll whose results are live.
pub const ANY_RESULT: Schema = Schema::new("AnyResult", || {
    let interim = object(json!({
        "interim": {"const": true},
        "cast": count(),
        "entitled": count(),
        "options": array(option_result(), 1, None),
        "poll": id(),
        "round": integer(1, None),
    }));
    json!({"oneOf": [counted(), interim]})
});

fn counted() -> Value {
    object(json!({
        "cast": count(),
        "entitled": count(),
        "poll": id(),
        "round": integer(1, None),
        "title": string(),
        "opened_at": instant(),
        "closed_at": instant(),
        "opening_hash": sha256(),
        "electorate_hash": sha256(),
        "options": array(option_result(), 1, None),
        "record": object(json!({"closed_event_hash": sha256(), "closed_event_index": integer(0, None)})),
        "rule": object(json!({
            "name": words(&["plurality"]),
            "base": words(&["cast"]),
            "seats": integer(1, None),
            "tie": words(&["reported"]),
        })),
        "verdict": object(json!({
            "outcome": words(&["elected", "tied", "no_result"]),
            "elected": array(id(), 0, None),
            "tied_set": array(id(), 0, None),
            "explanation": string(),
        })),
    }))
}

fn option_result() -> Value {
    let share = object(json!({
        "numerator": micros(),
        "denominator": micros(),
        "percent": string(),
        "whole_percent": nullable(integer(0, Some(100))),
    }));
    object(json!({"option": id(), "title": string(), "votes": count(), "share_of_cast": nullable(share)}))
}

/// Heads and what they cast.
fn count() -> Value {
    object(json!({"heads": integer(0, None), "weight": weight()}))
}

fn micros() -> Value {
    json!({"type": "string", "pattern": "^[0-9]+$", "description": "In millionths of a vote."})
}

fn weight() -> Value {
    json!({"type": "string", "pattern": "^[0-9]+\\.[0-9]{6}$"})
}

fn ballot_token() -> Value {
    json!({"type": "string", "pattern": "^rsb_", "description": "Shown this once."})
}

fn participant_members() -> Value {
    json!({
        "id": id(),
        "name": string(),
        "email": nullable(string()),
        "external_reference": nullable(string()),
        "weight": weight(),
    })
}

fn new_participant() -> Value {
    let decimal = json!({"type": "string", "pattern": "^[0-9]+(\\.[0-9]{1,6})?$"});
    let given = json!({"anyOf": [decimal, integer(1, Some(9_223_372_036_854)), {"type": "null"}]});
    let members = json!({
        "name": text(1, 300),
        "email": nullable(json!({"type": "string", "format": "email", "maxLength": 254})),
        "external_reference": nullable(text(1, 200)),
        "weight": about(given, "A decimal with at most six places, more than zero; default: 1."),
    });
    body(&["name"], members, json!({"name": "Ada", "email": "ada@example.org", "weight": "1.75"}))
}
