//! The one layer before every route: request log, limits, a panic's answer, and what handlers are given. One layer,
//! because each that is laid around a router costs every request a copy of all below it and a boxed future.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use tower::{Layer, Service};

use super::arrival::{Arrival, Tools};
use super::rate_limit::RateLimits;
use super::request_log::RequestLog;

/// What stands before the routes of one listener. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Front(Arc<Parts>);

/// What a front is made of.
#[derive(Debug)]
pub struct Parts {
    /// Names, times and logs every request.
    pub log: RequestLog,
    /// Limits how often a client may come; none on the operator's listener.
    pub limits: Option<RateLimits>,
    /// Most bytes of a body.
    pub body_limit: usize,
    /// What handlers may use.
    pub tools: Option<Arc<Tools>>,
}

impl Front {
    /// Of these parts.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl<S> Layer<S> for Front {
    type Service = Fronted<S>;

    fn layer(&self, inner: S) -> Fronted<S> {
        Fronted { front: self.clone(), inner }
    }
}

/// A route with its front.
#[derive(Clone, Debug)]
pub struct Fronted<S> {
    front: Front,
    inner: S,
}

impl<S> Service<Request> for Fronted<S>
where
    S: Service<Request, Error = Infallible> + Clone + Send + 'static,
    S::Response: IntoResponse,
    S::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let front = self.front.clone();
        // The one that is ready is called; its copy takes its place.
        let copy = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, copy);
        Box::pin(async move {
            let Parts { log, limits, body_limit, tools } = &*front.0;
            let entry = log.begin(&request);
            let answer = async {
                let arrival = request.extensions_mut().get_or_insert_default::<Arrival>();
                arrival.body_limit = *body_limit;
                arrival.tools.clone_from(tools);
                let Some(limits) = limits else { return inner.call(request).await.into_response() };
                match limits.enter(&mut request) {
                    Ok(pass) => limits.leave(pass, inner.call(request).await.into_response()),
                    Err(refused) => *refused,
                }
            };
            Ok(log.end(entry, answer).await)
        })
    }
}
