/** docs/administration.md, from the table of administration routes. */
import type { AdminRoute } from '../../packages/server/src/admin/route.ts'
import { ADMIN_ROUTES } from '../../packages/server/src/admin/routes.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export function routeRows(routes: readonly AdminRoute[]): string {
  return routes
    .map(({ method, path, scope, summary }) => `| ${method} | \`${path}\` | \`${scope}\` | ${summary} |`)
    .join('\n')
}

export const page: GeneratedPage = {
  path: 'docs/administration.md',
  render: () => `${NOTICE}

# Administration

The same operations are available in three ways:

- \`gatehouse user|role|client|keys|audit …\` on the machine with the data: without a token, with the file permissions of the user who runs it.
- The same commands with \`--server https://gate.example.com\` after \`gatehouse login\`, from any machine.
- The HTTP API below, with an access token. \`/openapi.json\` describes it.

## Remote login

On the machine with the data (as \`sudo gate …\` if you have followed the [installation](install.md)), give a user the scopes for
administration:

\`\`\`
gatehouse role add admin --scope Identity/Admin --scope Platform/Admin
gatehouse user add alice --role admin
\`\`\`

Then on any machine: \`gatehouse login --server https://gate.example.com\`. It signs in on a page of the server, as the client
\`gatehouse-cli\`. The login has every right that the user holds and the client may have, or those of \`--scope\`; the command prints the
user and the rights, and \`gatehouse whoami\` prints them again.
\`query\`, \`import\`, \`export\`, \`stream\` and the administration commands all use this login. The tokens are stored in
\`~/.config/gatehouse/credentials.json\`, readable by their owner only, and renewed as needed; \`gatehouse logout\` revokes them.
\`gatehouse login\` without options logs in to the demonstration.

The client \`gatehouse-cli\` is built in: public, for the device grant and refresh tokens, with all scopes. People confirm each login on a
page, and the login never has more rights than they hold. To allow less, or the password grant for \`login --username\`, change it, which
registers it; to forbid it and revoke what it was given, disable it:

\`\`\`
gatehouse client set gatehouse-cli --grant device_code --grant refresh_token --grant password \\
  --scope "openid profile offline_access Platform/Market Platform/Trading"
gatehouse client disable gatehouse-cli
\`\`\`

A registration cannot be deleted as long as the built-in client would take its place. \`GATEHOUSE_CLI_CLIENT=false\` switches that off;
tokens that it was given before stay valid until they expire, unless you disable it first; see [\`cli_client\`](settings.md#cli_client).

The address must be the issuer of the server: the command line sends no password and no token to another issuer's endpoints.
A token of \`--token-file\` is sent to its own issuer only.

## The HTTP API

Pages of registered origins may call it: see [browser pages](clients.md#browser-pages).

Errors are \`application/problem+json\` with a stable \`Code\`. An invalid body is answered with 422 and its \`Faults\` by path.
Objects that can be changed have an \`ETag\`. A PATCH (JSON merge patch, RFC 7396) must send it in \`If-Match\`: without it the
response is 428, after a concurrent change it is 412, and \`*\` matches any version. For a DELETE it is optional. Changes run
one at a time on all nodes, so of two with the same \`If-Match\` exactly one succeeds. Secrets and generated passwords are
shown only in the response that creates them.

| method | path | scope | |
|---|---|---|---|
${routeRows(ADMIN_ROUTES)}

\`{user}\` is a username or an id, and so are the parameters \`user\` and \`actor\`, which take client ids too. Nodes, streaming
connections and running queries are listed from all nodes; nodes that do not reply within a second are listed in \`silent\`. Of
many connections or queries the newest \`limit\` are listed, and \`total\` says how many there are.

## What a user may do

\`GET /admin/users/{user}/rights\` and \`gatehouse user rights alice\` show what the platform would decide for a user: the scopes that each
role gives, the tables with what the user may do in them and the row filter with the claims of the user in place of \`:sub\`,
\`:username\` and \`:roles\`, and the topics of the stream. Tables come page by page, or by \`prefix\`. An application through which the
user works may be allowed less: its tokens have the scopes that the user holds, the application may ask for, and the user has
consented to. \`:client\` in a row filter is that application, so it is not replaced. Tables and topics are those of a running
node; without one they are null.

## Nodes

\`GET /admin/nodes\` and \`gatehouse nodes list\` show each node: its version, services and uptime, whether it is ready and which check
fails, the event-loop lag of the last ten seconds in milliseconds, CPU, memory and free disk space, HTTP connections, streaming
connections and their subscriptions, running and waiting queries, live statements, and the query slots (reader processes, or
connections to PostgreSQL) that are busy. \`/metrics\` has more, for one node.
\`GET /admin/backups\` lists the [backups](backup.md) that are recorded in the audit log.

## What was changed

\`gatehouse audit list --changes\` and \`GET /admin/audit?changes=true\` show who changed what, newest first: users, roles, clients, secrets,
keys, tables and the rest that the [audit log](audit.md) marks as a change, without sign-ins, tokens and refusals. Other filters narrow it:
\`--actor olivia\`, \`--target alice\`, \`--event client\`, \`--since 2026-11-01T00:00:00Z\`.

## Many users

Lists are read page by page: \`next\` is the path of the next page, \`limit\` the size of one. Every page reads a range of an
index that begins where the last page ended, so that the last page takes as long as the first.

\`GET /admin/users?search=lid\` finds users whose username, name, family name or e-mail address begins with the text, case-insensitively,
ordered by the field that matches. A name is \`name\`, or \`given_name\` and \`family_name\`, or \`nickname\`; where there is no
\`family_name\`, the last word of the name counts as one. A page reads a bounded number of entries: it can have fewer users than
\`limit\`, even none, although \`next\` is there.

\`GET /admin/users?role=trader\` lists the users with a role, and \`GET /admin/roles/{role}\` says how many there are, up to 10,000.
\`GET /admin/clients?search=desk\` finds clients whose id or name contains the text.

\`GET /admin/counts\` counts up to 10,000 of each thing; \`more\` says that there are more. Counting needs neither a full scan nor stored
totals.

## Invitations and new passwords

\`POST /admin/links\` returns a one-time link in \`url\`, with which a person chooses a password: for a new user with
\`{"username": "bob", "roles": ["trader"]}\`, for an existing one with \`{"user": "bob"}\`, each with \`expires_in\` in seconds if
three days are too many. With \`{"first_administrator": true}\`, as long as no administrator can sign in, the link creates one. See
[set-up links](sign-in.md#set-up-links). \`must_change_password\` of a user, or of the body that sets a password, demands a new one
at the next sign-in.

## Who is signed in

\`GET /admin/sessions\` lists browser sessions, \`GET /admin/grants\` what applications may do for users (with \`offline\` where
the grant has a refresh token), \`GET /admin/streams\` the streaming connections of all nodes; each of all users, or of one with
\`user\`. \`DELETE /admin/users/{user}/sessions\` ends all three for a user and says how many there were.
`,
}
