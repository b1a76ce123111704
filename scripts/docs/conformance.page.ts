/** docs/conformance.md, from the rows of the acceptance checklist and the recorded results. */
import { PLANS } from '../../test/conformance/fapi2/plan.ts'
import { PARTS, type Row } from '../../test/conformance/rows.ts'
import { type RowResult, readResults } from '../conformance/results.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/conformance.md',
  render() {
    const results = readResults()
    const parts = PARTS.map(
      ({ title, rows }) =>
        `## ${title}\n\n| id | what must hold | test | result |\n|---|---|---|---|\n${rows
          .map((row) => line(row, results[row.id]))
          .join('\n')}\n`,
    )
    return `${NOTICE}

# Conformance

The acceptance checklist of the identity server, with the results of the last \`npm run conformance\`. The number of a
row is how many tests have its id in their name: most rows run on SQLite and on PostgreSQL, and modules with every
response type that they apply to, on SQLite also with \`form_post\`. The modules of FAPI 2.0 run in every plan below
that has them.

Modules have the names of the OpenID Foundation's suite; they are our own tests of the same behaviour, not the suite
itself. They also run against npm \`oidc-provider\`, a certified provider (\`calibration.test.ts\` in
\`test/conformance/\` and in its folder \`fapi2/\`), as do the rows on which it must agree: this shows that a failing row
is our fault and not the test's. In addition, \`test/clients/\` runs third-party client libraries, and \`test/browser/\` a
real Chromium, against the server.

The plans of FAPI 2.0 are these, as the suite names them. Its warnings count as failures here.

${Object.values(PLANS)
  .map(({ name }) => `- \`${name}\``)
  .join('\n')}

The suite itself is not part of the tests. To run its plans, set up:

- the server: \`signing_algs\` with \`PS256\`, \`ES256\` or \`EdDSA\`, and \`discovery: complete\` for the plans with OpenID Connect;
- two clients with \`"profile": "fapi2"\` and a key of their own, the first \`PS256\`, so that no module is skipped. Their redirect
  URIs are the suite's \`/callback\`, and for the second \`/callback?dummy1=lorem&dummy2=ipsum\`. Message signing needs
  \`require_signed_request_object\`; with OpenID Connect they may request \`openid profile email offline_access\`, without it
  \`Platform/Market offline_access\`;
- a user with every claim of \`claims_supported\`;
- as the resource \`/connect/userinfo\`, without OpenID Connect \`/platform/topics\`.

${parts.join('\n')}`
  },
}

function line({ id, rule, without }: Row, result: RowResult | undefined): string {
  const files = (result?.files ?? []).map((file) => `[${file.replace(/^test\//, '')}](../${file})`).join('<br>')
  return `| ${id} | ${rule} | ${files} | ${without === undefined ? outcome(result) : `does not apply: ${without}`} |`
}

function outcome(result: RowResult | undefined): string {
  if (result === undefined) return '**no test**'
  return result.failed > 0 ? `**${result.failed} failed**` : `${result.passed} passed`
}
