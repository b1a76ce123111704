/** docs/audit.md, from the table of audit events. */
import { AUDIT_EVENTS, type AuditEventName, outcomeOf } from '../../src/protocol/audit-events.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/audit.md',
  render: () => `${NOTICE}

# The audit log

Who did what, to whom, from where and when: every sign-in, refusal, grant, consent, revocation and change by an
administrator. It lives in the identity database and is only ever appended to. A row is taken at once and durable within
a second, and before a node stops; a node that is killed may lose what was recorded in its last fifth of a second.

\`\`\`
gatehouse audit list --event signin --since 2026-11-01T00:00:00Z
gatehouse audit export > audit.ndjson
gatehouse audit verify
\`\`\`

## In IQL

The table \`auditlog\` of the [query service](query.md) shows the same rows to callers whose token has \`Identity/Admin\` besides a
scope of the platform; for everybody else it does not exist. It can be joined and grouped like any table, and nobody can
write to it.

\`\`\`
gatehouse query "SELECT address, count(*) AS refusals FROM auditlog
  WHERE event = 'signin.refused' AND at > now() - INTERVAL '1 day' GROUP BY address ORDER BY refusals DESC LIMIT 10"
\`\`\`

It is a copy, brought up to date before each statement that names it: rows of the node that answers are there at once,
those of other nodes within a second. What proves that nothing was changed is the log itself, which \`verify\` reads;
\`gatehouse doctor\` compares the copy with it.

## The chain

Each row carries the SHA-256 of the row before it and of its own content; a head names the last row and how many there
have ever been. Nodes extend the chain one after the other, in the transaction that writes the rows. \`gatehouse audit
verify\` walks it from the first row to the head: a row that was changed, removed, moved, slipped in or cut off is named.

Whoever can write the database can also rewrite the whole chain. Against that, note the head that \`verify\` prints
somewhere else, and ask for it later: \`gatehouse audit verify --head SEQ:HASH\` fails when what was noted is not in the log.

## Retention

Rows older than \`GATEHOUSE_AUDIT_RETENTION_DAYS\` (400 unless told otherwise, 0 for ever) are removed from the front, and
a row \`audit.pruned\` keeps the hash from which the chain goes on. A log that does not begin at 1 is whole only with it.

## Rows

\`seq\`, \`at\`, \`event\`, \`outcome\` (\`success\` or \`refused\`), \`actor\` (who), \`client\` (through which), \`target\` (to whom),
\`address\`, \`request_id\`, \`node\`, \`details\`, \`hash\`. Details have the members below and no others: passwords, tokens, codes
and secrets have no place to stand. The name that somebody typed is kept only where such a user exists.

| event | outcome | meaning | details |
|---|---|---|---|
${(Object.keys(AUDIT_EVENTS) as AuditEventName[]).map(row).join('\n')}
`,
}

function row(name: AuditEventName): string {
  const { meaning, members } = AUDIT_EVENTS[name]
  return `| \`${name}\` | ${outcomeOf(name)} | ${meaning} | ${members.map((member) => `\`${member}\``).join(', ')} |`
}
