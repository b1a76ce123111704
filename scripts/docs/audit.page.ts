/** docs/audit.md, from the table of audit events. */
import { AUDIT_EVENTS, type AuditEventName, auditOutcome } from 'gatehouse-protocol'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/audit.md',
  render: () => `${NOTICE}

# The audit log

The audit log records who did what, to whom, from where and when: every sign-in, refusal, grant, consent, revocation and
change by an administrator. It is an append-only table in the identity database. A row is durable within a second, and
before a node stops; a node that is killed may lose the rows of its last 200 ms.

\`\`\`
gatehouse audit list --changes
gatehouse audit list --event signin --since 2026-11-01T00:00:00Z
gatehouse audit follow --event token.refused
gatehouse audit export > audit.ndjson
gatehouse audit verify
\`\`\`

\`--changes\` shows what people changed: users, roles, clients, secrets, keys, passwords, second factors, links, consents, grants,
tables, saved queries, declarative files, restores and moves. It omits sign-ins, tokens, refusals and what the server does automatically. The
API has it as \`?changes=true\`, the [console](console.md) as the switch "Changes only"; the table below marks these events.

Over HTTP, \`GET /admin/audit\` has the newest rows first and the path of the next page in \`next\`. A filter without an index (outcome,
client, target, address) reads 20,000 rows for each page, so that a long log does not slow down other requests. Such a page may have few
rows, or none, even if there is a next page. \`names\` has the names of the users and clients in the rows.

To **follow** the log, ask for \`?after=SEQ&wait=20\`: the reply comes as soon as there are rows after that one, oldest first, or after
20 seconds without any, and \`next\` is where to continue. \`for await (const row of gate.admin.audit.list({ after, wait: 20 }))\` of the
[client library](client.md) does that.

## What repeats is counted

Anyone who can reach the server can cause refusals. To keep them from filling the log, only the first ten refusals of a kind get a row
each. The rest are counted: every ten minutes one row has their number in \`count\` and the time of the first of them in \`since\`; its
other members are those of the last one. After ten minutes without a refusal, each gets its own row again. A kind is the same event,
actor, client, target, network (an address, or a /64 of IPv6) and reason. One network can have 100 kinds at a time, a node 10,000, and as many
again of callers with a valid token; beyond that, refusals are counted by event and network, then by event alone, and such a row has no actor, client or reason.

\`stepup.asked\` is counted like a refusal. \`authorization.granted\` and \`token.issued\` are counted from the second on, because a page may get tokens each time it is loaded. Their
rows always name the user and the client. Sign-ins and changes are never counted.

A count is written when its ten minutes are over, and before the node stops; a node that is killed loses the counts of the current
interval. The rows of a count are in the chain like all others.

## In IQL

The table \`auditlog\` of the [query service](query.md) has the same rows, for callers whose token has \`Identity/Admin\` and a
platform scope; for everyone else it does not exist. It can be joined and grouped like any table, and is read-only.

\`\`\`
gatehouse query "SELECT address, sum(coalesce(CAST(json_text(details, 'count') AS Integer), 1)) AS refusals FROM auditlog
  WHERE event = 'signin.refused' AND at > now() - INTERVAL '1 day' GROUP BY address ORDER BY refusals DESC LIMIT 10"
\`\`\`

It is a copy, updated before each statement that uses it: rows of the node that answers are there at once, those of other
nodes within a second. \`verify\` checks the log itself, not the copy; \`gatehouse doctor\` compares the two.

## The hash chain

Each row has the SHA-256 of the previous hash and of its own content. A head row has the number of rows ever written and
the last hash. Nodes extend the chain one after the other, in the transaction that writes the rows. \`gatehouse audit
verify\` checks it from the first row to the head and reports rows that were altered, removed, moved, inserted or truncated.

Over HTTP the verification goes in steps: \`GET /admin/audit/verify\` checks up to 20,000 rows (\`limit\`) and names the next step in
\`next\`, which continues from the hash that the previous step computed; \`next\` is null when the head is reached.

Anyone who can write to the database can also rewrite the whole chain. To detect that, record the head that \`verify\`
prints elsewhere: \`gatehouse audit verify --head SEQ:HASH\` later fails if that head is not in the log.

## Retention

Rows older than \`GATEHOUSE_AUDIT_RETENTION_DAYS\` (default 400; 0 keeps all) are removed from the front. A row
\`audit.pruned\` keeps the hash from which the chain continues; a log that does not begin at 1 is intact only if it has such a row.

## Rows

\`seq\`, \`at\`, \`event\`, \`outcome\` (\`success\` or \`refused\`), \`actor\` (who), \`client\` (through which), \`target\` (to whom),
\`address\`, \`request_id\`, \`node\`, \`details\`, \`hash\`. Details have only the members listed below, never passwords, tokens, codes
or secrets. In addition, a row that [counts](#what-repeats-is-counted) has \`count\` and \`since\`. The name entered at a sign-in is
recorded only if the user exists.

| event | outcome | change | meaning | details |
|---|---|---|---|---|
${(Object.keys(AUDIT_EVENTS) as AuditEventName[]).map(row).join('\n')}
`,
}

function row(name: AuditEventName): string {
  const { meaning, members, isChange } = AUDIT_EVENTS[name]
  const details = members.map((member) => `\`${member}\``).join(', ')
  return `| \`${name}\` | ${auditOutcome(name)} | ${isChange ? 'yes' : ''} | ${meaning} | ${details} |`
}
