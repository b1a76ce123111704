/** docs/administration.md, from the table of administration routes. */
import { ADMIN_ROUTES } from '../../src/admin/routes.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/administration.md',
  render: () => `${NOTICE}

# Administration

Three ways lead to the same operations:

- \`gatehouse user|role|client|keys|audit …\` on the machine that has the data: no token, the rights of the user who runs it.
- The same commands with \`--server https://gate.example.com\` after \`gatehouse login\`, from anywhere.
- The HTTP interface below, with an access token. \`/openapi.json\` describes it for programs.

## Log in from afar

Register the command line as a client once, where the data is, and give somebody the right to administer:

\`\`\`
gatehouse client add gatehouse-cli --public --grant device_code --grant refresh_token \\
  --scope Identity/Admin --scope Platform/Admin --scope offline_access
gatehouse role add admin --scope Identity/Admin --scope Platform/Admin
gatehouse user add alice --role admin
\`\`\`

Then anywhere: \`gatehouse login --server https://gate.example.com\`. The tokens are kept in
\`~/.config/gatehouse/credentials.json\`, readable by their owner alone, and renewed as needed; \`gatehouse logout\` revokes them.

## The HTTP interface

Errors are \`application/problem+json\` with a stable \`Code\`. A body that cannot be used is 422 and lists its \`Faults\` by path.
What can be changed carries an \`ETag\`: a PATCH (JSON merge patch, RFC 7396) must name the version it changes with
\`If-Match\` (428 without, 412 when somebody was faster, \`*\` for "whatever it is now"); a DELETE may. Changes run one at a
time over all nodes, so that of two with the same \`If-Match\` exactly one is made. Secrets and generated passwords are in
the answer that makes them and nowhere else.

| method | path | scope | |
|---|---|---|---|
${ADMIN_ROUTES.map(({ method, path, scope, summary }) => `| ${method} | \`${path}\` | \`${scope}\` | ${summary} |`).join('\n')}

A \`{user}\` is a username or an id. The lists of live streaming sessions and running queries ask every node; a node that
does not answer within a second is named in \`silent\`.
`,
}
