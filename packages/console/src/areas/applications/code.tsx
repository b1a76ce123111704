/** The code to paste, with the values of this server and this application. */

import { useState } from 'preact/hooks'
import { server } from '../../server.ts'
import { Code, Empty, Notice, Segments } from '../../ui/index.ts'
import { type Application, clientKind, kindInfo } from './kinds.ts'
import { shownSecret } from './secret.ts'
import { ShownOnce } from './secrets.tsx'
import { kindSnippets } from './snippets.ts'

export function CodePage({ client }: { readonly client: Application }) {
  // Registered by hand for a flow of the past, such as passwords.
  if (kindInfo(clientKind(client)).redirects && (client.redirect_uris ?? []).length === 0)
    return (
      <Empty icon="code" title="There is no code for this application">
        It has no redirect URI, so people cannot sign in with it in a browser. Its grant types are{' '}
        {(client.grant_types ?? []).join(', ')}.
      </Empty>
    )
  return <Snippets client={client} />
}

function Snippets({ client }: { readonly client: Application }) {
  const secret = shownSecret(client.client_id)
  const snippets = kindSnippets(clientKind(client), {
    issuer: server.issuer,
    clientId: client.client_id,
    redirectUri: client.redirect_uris?.[0] ?? '',
    signedOutUri: client.post_logout_redirect_uris?.[0],
    scope: client.scope ?? 'openid',
  })
  const [chosen, setChosen] = useState(snippets[0]?.title ?? '')
  const shown = snippets.find(({ title }) => title === chosen) ?? snippets[0]
  if (shown === undefined) return null
  return (
    <div class="code-page">
      {secret !== undefined && <ShownOnce secret={secret} />}
      <Segments
        label="Library"
        value={shown.title}
        onValue={setChosen}
        choices={snippets.map(({ title }) => ({ value: title, title }))}
      />
      {shown.install !== undefined && <Code label="Install" text={shown.install} />}
      <Code label={shown.file} text={shown.code} />
      {shown.note !== undefined && <Notice>{shown.note}</Notice>}
    </div>
  )
}
