/** The form of a provider: how this server is registered there, who may sign in, what claims give, and sessions. */
import { useState } from 'preact/hooks'
import { readFaults } from '../../admin/tagged.ts'
import { href } from '../../shell/router.ts'
import {
  Button,
  ButtonLink,
  Checkbox,
  ErrorNotice,
  Form,
  Section,
  Select,
  TextArea,
  TextField,
  useSubmit,
} from '../../ui/index.ts'
import { type Draft, MORE, moreFault, withoutEmptyRows } from './provider-draft.ts'
import { Requirements, Rules } from './provider-rules.tsx'

const PROVISIONS = [
  { value: 'never', title: 'Nobody: users link their accounts themselves' },
  { value: 'invited', title: 'People with a set-up link' },
  { value: 'create', title: 'Everybody who meets the requirements' },
] as const

export function ProviderForm({
  draft: given,
  action,
  failed,
  isNew = false,
  hasSecret = false,
  onSave,
}: {
  readonly draft: Draft
  readonly action: string
  /** The title of an error. */
  readonly failed: string
  readonly isNew?: boolean
  readonly hasSecret?: boolean
  readonly onSave: (draft: Draft) => Promise<void>
}) {
  const [draft, setDraft] = useState(given)
  const fault = moreFault(draft.more)
  const { isBusy, error, submit } = useSubmit(async () => {
    // The faults name rows by their number.
    const whole = withoutEmptyRows(draft)
    setDraft(whole)
    await onSave(whole)
  })
  const faults = readFaults(error)
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  /** Of the member, or of something inside it. */
  const findFault = (member: string) =>
    [...(faults ?? [])].find(
      ([path]) => path === member || (/^[.[]/.test(path.slice(member.length)) && path.startsWith(member)),
    )?.[1]
  return (
    <Form class="provider-form" error={error} onSubmit={() => fault === undefined && submit()}>
      <Section title="Connection">
        <div class="form">
          {isNew && (
            <TextField
              label="Id"
              hint="In addresses, such as corp: lower-case letters, digits, dashes. It cannot be changed later."
              value={draft.id}
              onValue={(id) => set({ id })}
              error={findFault('id')}
              required
              autofocus
            />
          )}
          <TextField
            label="Name"
            hint="On the button of the sign-in page. Empty: the id."
            value={draft.name}
            onValue={(name) => set({ name })}
            error={findFault('name')}
          />
          <TextField
            label="Issuer"
            hint={
              isNew
                ? 'Exactly as the provider writes it, such as https://id.example.com/realms/main. It cannot be changed later.'
                : 'It cannot be changed, since linked identities refer to it.'
            }
            inputMode="url"
            value={draft.issuer}
            onValue={(issuer) => set({ issuer })}
            error={findFault('issuer')}
            required
            readOnly={!isNew}
          />
          <TextField
            label="Client id"
            hint="As the provider has registered this server."
            value={draft.clientId}
            onValue={(clientId) => set({ clientId })}
            error={findFault('client_id')}
            required
          />
          <TextField
            label={hasSecret ? 'New client secret' : 'Client secret'}
            hint={
              hasSecret
                ? 'Leave empty to keep the current secret.'
                : 'Stored encrypted and never shown again. Leave empty with auth_method private_key_jwt.'
            }
            type="password"
            autocomplete="off"
            value={draft.secret}
            onValue={(secret) => set({ secret })}
            error={findFault('client_secret')}
          />
          <Checkbox
            label="In a private network"
            hint="Allows private and loopback addresses, and http."
            checked={draft.private}
            onChecked={(isPrivate) => set({ private: isPrivate })}
          />
        </div>
      </Section>
      <Section title="Who may sign in">
        <div class="form">
          <TextField
            label="Domains"
            hint="Anyone who enters a name of one of them is sent there without a password. Separate them with commas."
            placeholder="example.com"
            value={draft.domains}
            onValue={(domains) => set({ domains })}
            error={findFault('domains')}
          />
          <Requirements rows={draft.require} onRows={(require) => set({ require })} error={findFault('require')} />
          <Select
            label="Who gets a new account"
            value={draft.provision}
            onValue={(value) => set({ provision: PROVISIONS.find((known) => known.value === value)?.value ?? 'never' })}
            choices={PROVISIONS}
            error={findFault('provision')}
          />
        </div>
      </Section>
      <Section
        title="Rules"
        about="Applied at every sign-in. A role that a rule gives lasts while the claim has the value."
      >
        <div class="form">
          <Rules rows={draft.rules} onRows={(rules) => set({ rules })} faults={faults} />
        </div>
      </Section>
      <Section title="Factors and sessions">
        <div class="form">
          <TextField
            label="Values of amr that count as two factors"
            hint="Such as mfa; separated by commas. Without any, a second factor is asked for here."
            value={draft.amr}
            onValue={(amr) => set({ amr })}
            error={findFault('trust_mfa.amr')}
          />
          <TextField
            label="Values of acr that count as two factors"
            value={draft.acr}
            onValue={(acr) => set({ acr })}
            error={findFault('trust_mfa.acr')}
          />
          <TextField
            label="Longest session"
            hint="Of sessions and refresh tokens, from 5 minutes to 365 days. Empty: as after a password."
            placeholder="7 days"
            value={draft.lifetime}
            onValue={(lifetime) => set({ lifetime })}
            error={findFault('lifetime')}
          />
          <Checkbox
            label="Sign out there too"
            hint="A sign-out here continues with one at the provider."
            checked={draft.logout}
            onChecked={(logout) => set({ logout })}
          />
        </div>
      </Section>
      <details class="provider-more" open={draft.more !== ''}>
        <summary>More</summary>
        <TextArea
          label="Other members, as JSON"
          hint={`As in the declarative file: ${MORE.join(', ')}.`}
          class="code-text"
          rows={6}
          value={draft.more}
          onValue={(more) => set({ more })}
          error={fault ?? MORE.map(findFault).find((text) => text !== undefined)}
        />
      </details>
      {error !== undefined && <ErrorNotice error={error} title={failed} />}
      <div class="row">
        <Button type="submit" kind="primary" busy={isBusy} disabled={fault !== undefined}>
          {action}
        </Button>
        <ButtonLink kind="plain" href={href('people', 'providers')}>
          Cancel
        </ButtonLink>
      </div>
    </Form>
  )
}
