/** The form of an API: its name, its scopes with what each allows, and its tokens. */
import { useState } from 'preact/hooks'
import type { AdminApi } from '../../../../../client/src/index.ts'
import { readFaults } from '../../../admin/tagged.ts'
import { href } from '../../../shell/router.ts'
import { Button, ButtonLink, ErrorNotice, Form, IconButton, TextField, useSubmit } from '../../../ui/index.ts'
import { word } from '../../../ui/word.ts'

type Scope = AdminApi['scopes'][number]

export interface Draft {
  readonly resource: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly claims: string
  readonly lifetime: string
}

export const EMPTY: Draft = { resource: '', name: '', scopes: [{ name: '' }], claims: '', lifetime: '' }

export function draftApi({ resource, name, scopes, claims = [], access_token_lifetime: lifetime }: AdminApi): Draft {
  return {
    resource,
    name: name === resource ? '' : name,
    scopes,
    claims: claims.join(' '),
    lifetime: lifetime === undefined ? '' : String(lifetime),
  }
}

/** The members of the request; null for those that have their default. */
export function requestMembers({ name, scopes, claims, lifetime }: Draft) {
  const named = claims.split(/[\s,]+/).filter((claim) => claim !== '')
  return {
    name: name.trim() || null,
    scopes: scopes.filter((scope) => scope.name.trim() !== ''),
    claims: named.length === 0 ? null : named,
    access_token_lifetime: lifetime.trim() === '' ? null : Number(lifetime),
  }
}

export function ApiForm({
  draft: given,
  action,
  failed,
  isNew = false,
  onSave,
}: {
  readonly draft: Draft
  readonly action: string
  /** The title of an error. */
  readonly failed: string
  readonly isNew?: boolean
  readonly onSave: (draft: Draft) => Promise<void>
}) {
  const [draft, setDraft] = useState(given)
  const { isBusy, error, submit } = useSubmit(async () => {
    // The faults name scopes by their number.
    const whole = { ...draft, scopes: draft.scopes.filter(({ name }) => name.trim() !== '') }
    setDraft(whole)
    await onSave(whole)
  })
  const faults = readFaults(error)
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const isPlatform = draft.resource === 'platform'
  return (
    <Form error={error} onSubmit={submit}>
      {isNew && (
        <TextField
          label="Resource"
          hint="Its URI, the aud of its tokens: it cannot be changed. “platform” adds rights of your own to tables, feeds and topics."
          placeholder="https://orders.example.com"
          value={draft.resource}
          onValue={(resource) => set({ resource })}
          error={faults?.get('resource')}
          required
          autofocus
        />
      )}
      <TextField
        label="Name"
        hint="People see it when they consent."
        value={draft.name}
        onValue={(name) => set({ name })}
        error={faults?.get('name')}
      />
      <Scopes scopes={draft.scopes} onScopes={(scopes) => set({ scopes })} faults={faults} />
      {!isPlatform && (
        <>
          <TextField
            label="Claims"
            hint="In its access tokens, such as role or the claim of an attribute; separated by spaces."
            value={draft.claims}
            onValue={(claims) => set({ claims })}
            error={[...(faults ?? [])].find(([path]) => /^claims\b/.test(path))?.[1]}
          />
          <TextField
            label="Lifetime of its tokens"
            hint="60 to 86400 seconds. A shorter one of the application or the server counts."
            inputMode="numeric"
            value={draft.lifetime}
            onValue={(lifetime) => set({ lifetime })}
            error={faults?.get('access_token_lifetime')}
          />
        </>
      )}
      {error !== undefined && <ErrorNotice error={error} title={failed} />}
      <div class="row">
        <Button type="submit" kind="primary" busy={isBusy} disabled={draft.resource.trim() === ''}>
          {action}
        </Button>
        <ButtonLink kind="plain" href={href('applications', 'apis')}>
          Cancel
        </ButtonLink>
      </div>
    </Form>
  )
}

const LANGUAGES = [
  ['en', word('English')],
  ['de', word('German')],
] as const

function Scopes({
  scopes,
  onScopes,
  faults,
}: {
  readonly scopes: readonly Scope[]
  readonly onScopes: (scopes: readonly Scope[]) => void
  readonly faults: ReadonlyMap<string, string> | undefined
}) {
  const set = (index: number, part: Partial<Scope>) =>
    onScopes(scopes.map((scope, place) => (place === index ? { ...scope, ...part } : scope)))
  return (
    <fieldset class="choices">
      <legend>Scopes</legend>
      <p class="hint">Roles give them and applications are registered for them. The texts are for the consent page.</p>
      {scopes.map((scope, index) => (
        <div key={index} class="item-row">
          <TextField
            label={`Scope ${index + 1}`}
            placeholder="orders:write"
            value={scope.name}
            onValue={(name) => set(index, { name })}
            error={faults?.get(`scopes[${index}].name`)}
          />
          {LANGUAGES.map(([tag, language]) => (
            <TextField
              key={tag}
              label={language}
              value={scope.text?.[tag] ?? ''}
              onValue={(text) => set(index, { text: withText(scope.text, tag, text) })}
            />
          ))}
          <IconButton
            icon="minus"
            label={`Remove scope ${index + 1}`}
            onClick={() => onScopes(scopes.filter((_, place) => place !== index))}
          />
        </div>
      ))}
      <div>
        <Button size="small" kind="plain" icon="plus" onClick={() => onScopes([...scopes, { name: '' }])}>
          {scopes.length === 0 ? 'Add a scope' : 'Another scope'}
        </Button>
      </div>
    </fieldset>
  )
}

function withText(texts: Scope['text'] = {}, tag: string, text: string): Readonly<Record<string, string>> {
  const { [tag]: _, ...others } = texts
  return text === '' ? others : { ...others, [tag]: text }
}
