/** Connecting an application: its kind, then what that kind needs, then the code to paste. */
import { useState } from 'preact/hooks'
import { readFaults } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import { Button, ButtonLink, Checkbox, ErrorNotice, Form, Icon, Page, TextField, useSubmit } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { AddressFields, areComplete } from './addresses.tsx'
import { buildMetadata, type Draft, KINDS, type KindInfo, suggestId } from './kinds.ts'
import { ScopeChoice } from './scopes.tsx'
import { keepSecret } from './secret.ts'

const PARENTS = [{ title: 'Applications', href: href('applications') }]

export function NewApplication({ kind }: { readonly kind: string | null }) {
  const info = KINDS.find((candidate) => candidate.kind === kind)
  if (info !== undefined)
    return (
      <Page
        title={info.title}
        parents={[...PARENTS, { title: 'Connect an application', href: href('applications', 'new') }]}
      >
        <Wizard key={info.kind} info={info} />
      </Page>
    )
  return (
    <Page title="Connect an application" parents={PARENTS}>
      <p class="applications-question">What kind of application is it?</p>
      <ul class="cards">
        {KINDS.map(({ kind: name, title, about, icon }) => (
          <li key={name}>
            <a class="card" href={href('applications', 'new', { kind: name })}>
              <Icon name={icon} />
              <strong>{title}</strong>
              <span>{about}</span>
            </a>
          </li>
        ))}
      </ul>
    </Page>
  )
}

const EMPTY: Draft = {
  name: '',
  id: '',
  redirectUris: [''],
  signedOutUris: [],
  origins: [],
  scopes: ['profile'],
  offline: false,
  isOurs: false,
}

function Wizard({ info }: { readonly info: KindInfo }) {
  const [draft, setDraft] = useState<Draft>(EMPTY)
  const [ownId, setOwnId] = useState(false)
  const id = ownId ? draft.id : suggestId(draft.name)
  const isAgent = info.kind === 'agent'
  const hasScope = (info.kind !== 'service' && !isAgent) || draft.scopes.some((scope) => scope.includes('/'))
  const isComplete = draft.name.trim() !== '' && id.trim() !== '' && areComplete(info, draft) && hasScope
  const { isBusy, error, submit } = useSubmit(async () => {
    const made = await gate.admin.clients.create(buildMetadata(info.kind, { ...draft, id }))
    if (made.client_secret !== undefined) keepSecret(made.client_id, made.client_secret)
    toast(word(`${draft.name} is connected`))
    go(href('applications', made.client_id, 'code'))
  })
  const faults = readFaults(error)
  const isShown = faults !== undefined && [...faults.keys()].every((path) => path === 'client_id')
  return (
    <Form error={error} onSubmit={() => isComplete && submit()}>
      <TextField
        label="Name"
        hint={info.kind === 'service' ? 'Shown in the lists of the console.' : 'Shown to people when they sign in.'}
        value={draft.name}
        onValue={(name) => setDraft({ ...draft, name })}
        required
        autofocus
      />
      <TextField
        label="Client id"
        hint="What the application sends as client_id. It is derived from the name by default and cannot be changed later."
        error={faults?.get('client_id')}
        value={id}
        onValue={(text) => {
          setOwnId(true)
          setDraft({ ...draft, id: text })
        }}
        required
      />
      {info.redirects && (
        <AddressFields info={info} addresses={draft} onChange={(part) => setDraft({ ...draft, ...part })} />
      )}
      <ScopeChoice
        about={
          info.kind === 'service'
            ? 'What the service may do: choose at least one. It acts for itself, so no role is needed.'
            : isAgent
              ? 'What it can ask for: choose at least one. Users choose from it, and can allow only what their own roles allow.'
              : 'What it can request, besides openid. Users can grant only what their own roles allow.'
        }
        offered={({ name, resource }) =>
          isAgent
            ? resource === 'platform' && name !== 'Platform/Admin'
            : resource !== null || (info.kind !== 'service' && name !== 'openid' && name !== 'offline_access')
        }
        scopes={draft.scopes}
        onScopes={(scopes) => setDraft({ ...draft, scopes })}
      />
      {info.kind !== 'service' && !isAgent && (
        <Checkbox
          label="Stay signed in"
          hint="With a refresh token (offline_access), even when the user is away."
          checked={draft.offline}
          onChecked={(offline) => setDraft({ ...draft, offline })}
        />
      )}
      {info.kind !== 'service' && !isAgent && (
        <Checkbox
          label="Our own application"
          hint="It belongs to your organisation: users are not asked for consent."
          checked={draft.isOurs}
          onChecked={(isOurs) => setDraft({ ...draft, isOurs })}
        />
      )}
      {error !== undefined && !isShown && <ErrorNotice error={error} title="The application was not connected" />}
      <div class="row">
        <Button type="submit" kind="primary" busy={isBusy} disabled={!isComplete}>
          Connect
        </Button>
        <ButtonLink kind="plain" href={href('applications', 'new')}>
          Another kind
        </ButtonLink>
      </div>
    </Form>
  )
}
