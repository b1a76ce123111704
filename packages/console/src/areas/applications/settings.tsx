/** How an application is registered: to read, and to change where it is not built in. */
import { useState } from 'preact/hooks'
import type { Tagged } from '../../admin/tagged.ts'
import { server } from '../../server.ts'
import { Badge, Button, Checkbox, Copy, Facts, Form, Section, TextField } from '../../ui/index.ts'
import { RightList } from '../../ui/rights.tsx'
import { word } from '../../ui/word.ts'
import { type Addresses, AddressFields, areComplete } from './addresses.tsx'
import { type Application, clientKind, filled, hasSecret, kindInfo } from './kinds.ts'
import { ProtectionFields, protectionPatch, protectionText, readProtection, signInText } from './protection.tsx'
import { ScopeChoice } from './scopes.tsx'
import { registeredAlgorithms, SignatureFields, signaturesPatch } from './signatures.tsx'

interface Props {
  readonly application: Tagged<Application>
  readonly client: Application
}

export function Settings({ application, client }: Props) {
  const [isEditing, setEditing] = useState(false)
  if (isEditing) return <EditSettings application={application} client={client} onDone={() => setEditing(false)} />
  const info = kindInfo(clientKind(client))
  return (
    <Section
      title="Settings"
      actions={
        client.built_in !== true &&
        client.document !== true && (
          <Button size="small" icon="edit" onClick={() => setEditing(true)}>
            Edit
          </Button>
        )
      }
    >
      <Facts
        of={[
          ['Client id', <Copied text={client.client_id} label="Copy the client id" />],
          [word('Issuer'), <Copied text={server.issuer} label="Copy the issuer" />],
          [word('Kind'), `${info.title}, ${hasSecret(client) ? word('with a secret') : word('without a secret')}`],
          ['Grant types', <Words of={client.grant_types ?? ['authorization_code']} />],
          ...(info.redirects ? [['Redirect URIs', <Lines of={client.redirect_uris ?? []} />] as const] : []),
          ...(info.redirects
            ? [['After sign-out', <Lines of={client.post_logout_redirect_uris ?? []} />] as const]
            : []),
          ...(info.origins ? [[word('Origins'), <Lines of={allowedOrigins(client)} />] as const] : []),
          [word('Rights'), <RightList of={(client.scope ?? 'openid').split(' ')} />],
          [word('Protection'), protectionText(client)],
          ...(info.kind === 'service' ? [] : [['Sign-in of its users', signInText(client)] as const]),
          ...(info.kind === 'service'
            ? []
            : [[word('Consent'), client.skip_consent === true ? 'Not asked for' : 'Users are asked'] as const]),
        ]}
      />
    </Section>
  )
}

/** The origins whose pages may call the server. */
function allowedOrigins({ redirect_uris: uris = [], allowed_origins: others = [] }: Application): string[] {
  const own = uris.flatMap((uri) => (/^https?:/.test(uri) ? [new URL(uri).origin] : []))
  return [...new Set([...own, ...others])]
}

function Copied({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <span class="row">
      <code>{text}</code>
      <Copy text={text} label={label} />
    </span>
  )
}

function Words({ of }: { readonly of: readonly string[] }) {
  return (
    <span class="badges">
      {of.map((text) => (
        <Badge key={text}>{text.replace('urn:ietf:params:oauth:grant-type:', '')}</Badge>
      ))}
    </span>
  )
}

function Lines({ of }: { readonly of: readonly string[] }) {
  if (of.length === 0) return <span class="quiet">none</span>
  return (
    <ul>
      {of.map((line) => (
        <li key={line}>
          <code>{line}</code>
        </li>
      ))}
    </ul>
  )
}

function EditSettings({ application, client, onDone }: Props & { readonly onDone: () => void }) {
  const info = kindInfo(clientKind(client))
  const [name, setName] = useState(client.client_name ?? '')
  const [addresses, setAddresses] = useState<Addresses>({
    redirectUris: client.redirect_uris ?? [],
    signedOutUris: client.post_logout_redirect_uris ?? [],
    origins: client.allowed_origins ?? [],
  })
  const [scopes, setScopes] = useState<readonly string[]>((client.scope ?? 'openid').split(' '))
  const [skipConsent, setSkipConsent] = useState(client.skip_consent === true)
  const [protection, setProtection] = useState(readProtection(client))
  const [signatures, setSignatures] = useState(registeredAlgorithms(client))
  const [busy, setBusy] = useState(false)
  const isComplete = areComplete(info, addresses)
  const save = async () => {
    setBusy(true)
    const patch = {
      client_name: name.trim() || null,
      ...(info.redirects && {
        redirect_uris: filled(addresses.redirectUris),
        post_logout_redirect_uris: filledOrNull(addresses.signedOutUris),
      }),
      ...(info.origins && { allowed_origins: filledOrNull(addresses.origins) }),
      scope: scopes.join(' '),
      skip_consent: skipConsent || null,
      ...protectionPatch(protection),
      ...signaturesPatch(signatures),
    }
    if (await application.change(patch, word(`${name.trim() || client.client_id} was changed`))) onDone()
    setBusy(false)
  }
  return (
    <Section
      title="Settings"
      about="Changes take effect at once. A removed scope is also removed from existing tokens."
    >
      <Form onSubmit={() => isComplete && save()}>
        <TextField label="Name" value={name} onValue={setName} hint="Shown to people when they sign in." />
        {info.redirects && (
          <AddressFields
            info={info}
            addresses={addresses}
            onChange={(part) => setAddresses({ ...addresses, ...part })}
          />
        )}
        <ScopeChoice about="What it can request." scopes={scopes} onScopes={setScopes} />
        {info.kind !== 'service' && info.kind !== 'agent' && (
          <Checkbox
            label="Our own application"
            hint="It belongs to your organisation: users are not asked for consent."
            checked={skipConsent}
            onChecked={setSkipConsent}
          />
        )}
        <ProtectionFields info={info} protection={protection} onProtection={setProtection} />
        <SignatureFields info={info} signatures={signatures} onSignatures={setSignatures} />
        <div class="row">
          <Button type="submit" kind="primary" busy={busy} disabled={!isComplete}>
            Save
          </Button>
          <Button kind="plain" onClick={onDone}>
            Cancel
          </Button>
        </div>
      </Form>
    </Section>
  )
}

function filledOrNull(values: readonly string[]): readonly string[] | null {
  return filled(values).length === 0 ? null : filled(values)
}
