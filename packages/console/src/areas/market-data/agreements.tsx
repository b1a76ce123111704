/** Agreements that people accept: the list, a new one, and one to change. */
import { useState } from 'preact/hooks'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { isElsewhere, readFaults, type Tagged, useTagged } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import {
  Await,
  Button,
  ButtonLink,
  Checkbox,
  Empty,
  ErrorNotice,
  Form,
  FormDialog,
  Page,
  Segments,
  TextArea,
  TextField,
  useSubmit,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { MarketDataTabs } from './tabs.tsx'
import type { Agreement } from './types.ts'

const PARENTS = [
  { title: 'Market data', href: href('market-data') },
  { title: 'Agreements', href: href('market-data', 'agreements') },
]
const NEW = (
  <ButtonLink kind="primary" icon="plus" href={href('market-data', 'agreements', 'new')}>
    New agreement
  </ButtonLink>
)

export function Agreements() {
  const agreements = usePages<Agreement>('/admin/agreements?limit=100')
  return (
    <Page title="Market data" bar={<MarketDataTabs current="agreements" />} actions={NEW}>
      <PagedTable
        of={agreements}
        label="Agreements"
        rowKey={({ id }) => id}
        rowHref={({ id }) => href('market-data', 'agreements', id)}
        columns={[
          { title: 'Agreement', cell: ({ id }) => id },
          { title: 'Title', wide: true, cell: ({ title }) => title },
          { title: 'Version', cell: ({ version }) => version },
          { title: 'Languages', wide: true, cell: ({ text }) => Object.keys(text).join(', ') },
        ]}
        empty={
          <Empty icon="book" title="There are no agreements yet" actions={NEW}>
            A product can name an agreement, which people accept before their entitlement counts.
          </Empty>
        }
      />
    </Page>
  )
}

export function AgreementPage({ id }: { readonly id: string }) {
  const agreement = useTagged<Agreement>(`/admin/agreements/${encodeURIComponent(id)}`)
  const [isRecording, setRecording] = useState(false)
  const { data } = agreement
  return (
    <Page
      title={id}
      parents={PARENTS}
      actions={
        data !== undefined && (
          <>
            <Button icon="edit" onClick={() => setRecording(true)}>
              Record paper
            </Button>
            <Button kind="danger" icon="trash" onClick={() => remove(agreement, id)}>
              Delete
            </Button>
          </>
        )
      }
    >
      <Await of={agreement} title="This agreement could not be loaded">
        {(found) => (
          <AgreementForm
            key={JSON.stringify(found)}
            given={found}
            action="Save"
            onSubmit={async (draft) => {
              await agreement.save(toMembers(draft, found))
              toast(`The agreement ${id} was changed`)
            }}
          />
        )}
      </Await>
      {isRecording && data !== undefined && <PaperDialog agreement={data} onClose={() => setRecording(false)} />}
    </Page>
  )
}

async function remove(agreement: Tagged<Agreement>, id: string): Promise<void> {
  const isAgreed = await confirm({
    title: `Delete the agreement ${id}?`,
    text: 'What was accepted stays in the audit log.',
    action: 'Delete',
    danger: true,
  })
  if (isAgreed && (await agreement.remove(`The agreement ${id} was deleted`)))
    go(href('market-data', 'agreements'), { replace: true })
}

export function NewAgreement() {
  return (
    <Page title="New agreement" parents={PARENTS}>
      <AgreementForm
        given={{ id: '', version: '', title: '', text: { en: '' }, asks_status: false }}
        isNew
        action="Create the agreement"
        onSubmit={async (draft) => {
          await gate.request('/admin/agreements', { method: 'POST', body: toMembers(draft) })
          toast(`The agreement ${draft.id} was created`)
          go(href('market-data', 'agreements', draft.id))
        }}
      />
    </Page>
  )
}

interface Draft {
  readonly id: string
  readonly version: string
  readonly title: string
  readonly grace: string
  readonly asks_status: boolean
  /** By language. */
  readonly texts: readonly (readonly [language: string, text: string])[]
}

/** Languages of the agreement before that are not there any more are removed. */
function toMembers({ id, version, title, grace, asks_status, texts }: Draft, before?: Agreement): object {
  const given = texts.filter(([language, text]) => language.trim() !== '' && text.trim() !== '')
  const removed = Object.keys(before?.text ?? {}).map((language) => [language, null] as const)
  return {
    ...(before === undefined && { id: id.trim() }),
    ...{ version: version.trim(), title: title.trim(), asks_status },
    ...(grace.trim() === '' ? before !== undefined && { grace: null } : { grace: grace.trim() }),
    text: Object.fromEntries([...removed, ...given.map(([language, text]) => [language.trim(), text] as const)]),
  }
}

function AgreementForm({
  given,
  action,
  isNew = false,
  onSubmit,
}: {
  readonly given: Agreement
  readonly action: string
  readonly isNew?: boolean
  /** Rejects with the error of the server. */
  readonly onSubmit: (draft: Draft) => Promise<void>
}) {
  const [draft, setDraft] = useState<Draft>({ grace: '', ...given, texts: Object.entries(given.text) })
  const { isBusy, error, submit } = useSubmit(() => onSubmit(draft))
  const faults = readFaults(error)
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const setText = (index: number, entry: readonly [string, string]) =>
    set({ texts: draft.texts.map((each, at) => (at === index ? entry : each)) })
  return (
    <Form error={error} onSubmit={submit}>
      <div class="market-data-fields">
        {isNew && (
          <TextField
            label="Id"
            hint="Such as nyse-subscriber. It cannot be changed later."
            value={draft.id}
            onValue={(id) => set({ id })}
            error={faults?.get('id')}
            required
            autofocus
          />
        )}
        <TextField
          label="Version"
          hint="A new one must be accepted again."
          placeholder="2026-01"
          value={draft.version}
          onValue={(version) => set({ version })}
          error={faults?.get('version')}
          required
        />
        <TextField
          label="Title"
          value={draft.title}
          onValue={(title) => set({ title })}
          error={faults?.get('title')}
          required
        />
        <TextField
          label="Grace"
          hint="How long a version counts after another has replaced it."
          placeholder="14 days"
          value={draft.grace}
          onValue={(grace) => set({ grace })}
          error={faults?.get('grace')}
        />
      </div>
      <Checkbox
        label="Ask for the status"
        hint="People say whether they are professionals when they accept it."
        checked={draft.asks_status}
        onChecked={(asks_status) => set({ asks_status })}
      />
      {draft.texts.map(([language, text], index) => (
        <div key={index} class="market-data-text">
          <TextField
            label="Language"
            placeholder="en"
            value={language}
            onValue={(value) => setText(index, [value, text])}
            error={faults?.get('text')}
          />
          <TextArea label="Text" rows={10} value={text} onValue={(value) => setText(index, [language, value])} />
        </div>
      ))}
      <Button icon="plus" onClick={() => set({ texts: [...draft.texts, ['', '']] })}>
        Add a language
      </Button>
      {isElsewhere(error, ['id', 'version', 'title', 'grace']) && (
        <ErrorNotice error={error} title="The agreement was not saved" />
      )}
      <div class="row">
        <Button
          type="submit"
          kind="primary"
          busy={isBusy}
          disabled={draft.version.trim() === '' || draft.title.trim() === ''}
        >
          {action}
        </Button>
        <ButtonLink kind="plain" href={href('market-data', 'agreements')}>
          Cancel
        </ButtonLink>
      </div>
    </Form>
  )
}

/** What somebody has accepted on paper. */
function PaperDialog({ agreement, onClose }: { readonly agreement: Agreement; readonly onClose: () => void }) {
  const [holder, setHolder] = useState<'user' | 'client'>('user')
  const [name, setName] = useState('')
  const [note, setNote] = useState('')
  const { id, version } = agreement
  const { isBusy, error, submit } = useSubmit(async () => {
    const body = { [holder]: name.trim(), version, ...(note.trim() !== '' && { note: note.trim() }) }
    await gate.request(`/admin/agreements/${encodeURIComponent(id)}/acceptances`, { method: 'POST', body })
    toast(`${name.trim()} has accepted ${id}`)
    onClose()
  })
  return (
    <FormDialog
      title={`Record that ${id} was accepted on paper`}
      action="Record"
      busy={isBusy}
      disabled={name.trim() === ''}
      onClose={onClose}
      onSubmit={submit}
    >
      <Segments
        label="Who"
        value={holder}
        onValue={(chosen) => setHolder(chosen === 'client' ? chosen : 'user')}
        choices={[
          { value: 'user', title: word('User') },
          { value: 'client', title: word('Application') },
        ]}
      />
      <TextField
        label={holder === 'user' ? 'Username' : 'Application'}
        value={name}
        onValue={setName}
        required
        autofocus
      />
      <TextField label="Note" hint="Where the paper is." value={note} onValue={setNote} />
      {error !== undefined && <ErrorNotice error={error} title="It was not recorded" />}
    </FormDialog>
  )
}
