/** The form of a product's terms. What the server refuses is shown at its field. */
import { useState } from 'preact/hooks'
import { ACCESS_TITLES } from '../../admin/licences.tsx'
import { read } from '../../admin/requests.ts'
import { isElsewhere, readFaults } from '../../admin/tagged.ts'
import { go, href } from '../../shell/router.ts'
import { Button, ErrorNotice, Form, Select, TextField, useLoad, useSubmit } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { Agreement, Product } from './types.ts'

export interface Draft {
  readonly name: string
  readonly delay: string
  readonly default: string
  readonly agreement: string
  readonly trial: string
  readonly warn: string
  readonly simultaneous: string
  readonly when_full: string
  readonly count: string
}

export const EMPTY_PRODUCT: Product = { name: '', default: 'none', enabled: true }

/** As the administration takes it; null removes a member. */
export function toMembers({ simultaneous, when_full, ...draft }: Draft): object {
  const places = simultaneous.trim()
  return {
    ...Object.fromEntries(
      Object.entries(draft).map(([name, value]) => [name, value.trim() === '' ? null : value.trim()]),
    ),
    simultaneous: places === '' ? null : Number(places),
    when_full: places === '' || when_full === '' ? null : when_full,
  }
}

const FIELDS = ['name', 'delay', 'default', 'agreement', 'trial', 'warn', 'simultaneous', 'when_full', 'count']

export function ProductForm({
  given,
  action,
  isNew = false,
  onSubmit,
}: {
  readonly given: Product
  readonly action: string
  readonly isNew?: boolean
  /** Rejects with the error of the server. */
  readonly onSubmit: (draft: Draft) => Promise<void>
}) {
  const [draft, setDraft] = useState<Draft>({
    ...{ delay: '', agreement: '', trial: '', warn: '', when_full: '', count: 'user', ...given },
    simultaneous: given.simultaneous === undefined ? '' : String(given.simultaneous),
  })
  const { isBusy, error, submit } = useSubmit(async () => {
    const { name, delay, default: access, agreement, trial, warn, simultaneous, when_full, count } = draft
    await onSubmit({ name, delay, default: access, agreement, trial, warn, simultaneous, when_full, count })
  })
  const { data: agreements } = useLoad<{ readonly items: readonly Agreement[] }>(
    (signal) => read('/admin/agreements?limit=1000', signal),
    [],
  )
  const faults = readFaults(error)
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  return (
    <Form error={error} onSubmit={submit}>
      {isNew && (
        <TextField
          label="Name"
          hint="Such as NYSE.L1. It cannot be changed later."
          value={draft.name}
          onValue={(name) => set({ name })}
          error={faults?.get('name')}
          required
          autofocus
        />
      )}
      <div class="market-data-fields">
        <TextField
          label="Delay"
          hint="What delayed access means: from 1 second to 24 hours. Empty: nobody has delayed access."
          placeholder="15 minutes"
          value={draft.delay}
          onValue={(delay) => set({ delay })}
          error={faults?.get('delay')}
        />
        <Select
          label="For all others"
          hint="What all have whom no entitlement serves."
          value={draft.default}
          onValue={(value) => set({ default: value })}
          choices={Object.entries(ACCESS_TITLES).map(([value, title]) => ({ value, title }))}
          error={faults?.get('default')}
        />
        <Select
          label="Agreement"
          hint="Must be accepted before an entitlement counts."
          value={draft.agreement}
          onValue={(agreement) => set({ agreement })}
          choices={[
            { value: '', title: word('none') },
            ...new Set([
              ...(agreements?.items ?? []).map(({ id }) => id),
              ...(draft.agreement ? [draft.agreement] : []),
            ]),
          ]}
          error={faults?.get('agreement')}
        />
        <TextField
          label="Trial"
          hint="How long the trial is that each user can begin once. Empty: none."
          placeholder="30 days"
          value={draft.trial}
          onValue={(trial) => set({ trial })}
          error={faults?.get('trial')}
        />
        <TextField
          label="Warning"
          hint="How long before the end of their access users get a mail. Empty: none."
          placeholder="14 days"
          value={draft.warn}
          onValue={(warn) => set({ warn })}
          error={faults?.get('warn')}
        />
        <TextField
          label="Places at once"
          hint="Sign-ins of one user with real-time access. Empty: any number."
          inputMode="numeric"
          value={draft.simultaneous}
          onValue={(simultaneous) => set({ simultaneous })}
          error={faults?.get('simultaneous')}
        />
        <Select
          label="One place more"
          value={draft.when_full || 'refuse'}
          onValue={(when_full) => set({ when_full })}
          choices={[
            { value: 'refuse', title: word('is refused') },
            { value: 'displace', title: word('displaces the oldest') },
            { value: 'delay', title: word('is delayed') },
          ]}
          error={faults?.get('when_full')}
        />
        <Select
          label="The report counts"
          value={draft.count}
          onValue={(value) => set({ count: value })}
          choices={[
            { value: 'user', title: word('each user') },
            { value: 'place', title: word('most places at once') },
          ]}
          error={faults?.get('count')}
        />
      </div>
      {isElsewhere(error, FIELDS) && <ErrorNotice error={error} title="The product was not saved" />}
      <div class="row">
        <Button type="submit" kind="primary" busy={isBusy} disabled={draft.name.trim() === ''}>
          {action}
        </Button>
        {isNew && (
          <Button kind="plain" onClick={() => go(href('market-data'))}>
            Cancel
          </Button>
        )}
      </div>
    </Form>
  )
}
