/** docs/administration.md, from the table of administration routes. */
import { ADMIN_ROUTES } from '../../src/admin/routes.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/administration.md',
  render: () => `${NOTICE}

# Administration

There are three ways to the same operations:

- \`gatehouse user|role|client|keys|audit …\` on the machine with the data: without a token, with the file permissions of the user who runs it.
- The same commands with \`--server https://gate.example.com\` after \`gatehouse login\`, from any machine.
- The HTTP API below, with an access token. \`/openapi.json\` describes it.

## Remote login

On the machine with the data, register the command line as a client, and give a user the scopes for administration:

\`\`\`
gatehouse client add gatehouse-cli --public --grant device_code --grant refresh_token \\
  --scope Identity/Admin --scope Platform/Admin --scope offline_access
gatehouse role add admin --scope Identity/Admin --scope Platform/Admin
gatehouse user add alice --role admin
\`\`\`

Then on any machine: \`gatehouse login --server https://gate.example.com\`. The tokens are stored in
\`~/.config/gatehouse/credentials.json\`, readable by their owner only, and renewed as needed; \`gatehouse logout\` revokes them.
The address must be the issuer of the server: the command line sends no password and no token to another issuer's endpoints.

## The HTTP API

Pages of registered origins may call it: see [browser pages](clients.md#browser-pages).

Errors are \`application/problem+json\` with a stable \`Code\`. An invalid body is answered with 422 and its \`Faults\` by path.
Objects that can be changed have an \`ETag\`. A PATCH (JSON merge patch, RFC 7396) must send it in \`If-Match\`: without it the
response is 428, after a concurrent change it is 412, and \`*\` matches any version. For a DELETE it is optional. Changes run
one at a time on all nodes, so of two with the same \`If-Match\` exactly one succeeds. Secrets and generated passwords are
shown only in the response that creates them.

| method | path | scope | |
|---|---|---|---|
${ADMIN_ROUTES.map(({ method, path, scope, summary }) => `| ${method} | \`${path}\` | \`${scope}\` | ${summary} |`).join('\n')}

\`{user}\` is a username or an id. Streaming connections and running queries are listed from all nodes; nodes that do not reply
within a second are listed in \`silent\`.
`,
}
