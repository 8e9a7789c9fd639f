// The life of a name, step by step, as many at once as there are virtual users: mint, resolve, retarget, resolve,
// withdraw, gone. Every step is checked; the thresholds are no failed check and no failed request.
//
//   KEY=rsl_… k6 run k6/funnel.js
//
// BASE (default http://127.0.0.1:8080), DOMAIN (default demo), VUS (default 10), DURATION (default 10s).
import http from "k6/http";
import { check } from "k6";
import exec from "k6/execution";

const base = __ENV.BASE || "http://127.0.0.1:8080";
const domain = __ENV.DOMAIN || "demo";

export const options = {
  vus: Number(__ENV.VUS || 10),
  duration: __ENV.DURATION || "10s",
  thresholds: { checks: ["rate==1"], http_req_failed: ["rate==0"] },
};

const json = { Authorization: `Bearer ${__ENV.KEY}`, "Content-Type": "application/json" };
// 410 is what a withdrawn name must answer.
http.setResponseCallback(http.expectedStatuses({ min: 200, max: 399 }, 410));

export function setup() {
  if (!__ENV.KEY) {
    exec.test.abort("set KEY to a key of scope admin or editor");
  }
  return { run: Date.now().toString(36) };
}

export default function (data) {
  const name = `k6-${data.run}-${exec.vu.idInTest}-${exec.vu.iterationInInstance}`;
  const [first, second] = [`https://example.org/${name}`, `https://example.net/${name}?b=%2B`];
  const purl = `${base}/api/v1/purls/${domain}/${name}`;

  const minted = http.post(`${base}/api/v1/purls`, JSON.stringify({ domain, name, target: first }), {
    headers: json,
    tags: { name: "mint" },
  });
  check(minted, { "minted: 201": (r) => r.status === 201 });
  resolves(name, first);

  const headers = { ...json, "If-Match": minted.headers.Etag };
  const moved = http.put(purl, JSON.stringify({ target: second }), { headers, tags: { name: "retarget" } });
  check(moved, { "retargeted: 200": (r) => r.status === 200 });
  resolves(name, second);

  const withdrawn = http.del(purl, null, { headers: json, tags: { name: "withdraw" } });
  check(withdrawn, { "withdrawn: 200": (r) => r.status === 200 });
  const gone = http.get(`${base}/${domain}/${name}`, { redirects: 0, tags: { name: "gone" } });
  check(gone, { "gone: 410": (r) => r.status === 410 });
}

function resolves(name, target) {
  const answer = http.get(`${base}/${domain}/${name}`, { redirects: 0, tags: { name: "resolve" } });
  check(answer, { "resolved to its target": (r) => r.status === 302 && r.headers.Location === target });
}
