/** The form of a remote controller. What the server refuses is shown at its field. */
import { useState } from 'preact/hooks'
import { usePlatformScopes } from '../../../admin/platform-scopes.ts'
import { readFaults } from '../../../admin/tagged.ts'
import {
  Button,
  demandedNumber,
  ErrorNotice,
  Form,
  IconButton,
  Select,
  TextField,
  useSubmit,
} from '../../../ui/index.ts'
import { CLASSES } from '../feeds/feed.ts'
import type { Draft, RemoteTopic } from './controller.ts'

interface Props {
  readonly draft: Draft
  readonly isNew?: boolean
  /** The text of the button. */
  readonly action: string
  readonly failure: string
  /** Rejects with the error of the server. */
  readonly onSubmit: (draft: Draft) => Promise<void>
  readonly onCancel: () => void
}

export function ControllerForm({ draft: given, isNew = false, action, failure, onSubmit, onCancel }: Props) {
  const [draft, setDraft] = useState(given)
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change })
  const { isBusy, error, submit } = useSubmit(() => onSubmit(draft))
  const faults = readFaults(error)
  const isShown = faults !== undefined && [...faults.keys()].every((path) => FIELD.test(path))
  const isComplete = draft.name.trim() !== '' && draft.url.trim() !== ''
  return (
    <Form class="form feed-form" error={error} onSubmit={() => isComplete && submit()}>
      {isNew && (
        <TextField
          label="Name"
          hint="The Controller that requests name. It cannot be changed later."
          placeholder="Orders"
          error={error instanceof NameTaken ? error.message : faults?.get('name')}
          value={draft.name}
          onValue={(name) => set({ name })}
          required
          autofocus
        />
      )}
      <TextField
        label="URL"
        hint="Requests are posted here. It is also the audience of the token that identifies the caller."
        placeholder="https://oms.internal/gatehouse"
        inputMode="url"
        error={faults?.get('url')}
        value={draft.url}
        onValue={(url) => set({ url })}
        required
      />
      <TopicFields topics={draft.topics} onTopics={(topics) => set({ topics })} faults={faults ?? NO_FAULTS} />
      <div class="feed-fields">
        <TextField
          label="Timeout"
          hint="From 100 milliseconds to 1 hour."
          placeholder="10 seconds"
          error={faults?.get('timeout')}
          value={draft.timeout}
          onValue={(timeout) => set({ timeout })}
        />
        <TextField
          label="Concurrent requests"
          hint="Per process of the server."
          placeholder="64"
          inputMode="numeric"
          error={faults?.get('concurrency')}
          value={draft.concurrency}
          onValue={(concurrency) => set({ concurrency })}
        />
        <Select
          label="Class"
          hint="For clients of protocol version 2."
          error={faults?.get('class')}
          value={draft.class}
          onValue={(value) => set({ class: value })}
          choices={CLASSES}
        />
      </div>
      {error !== undefined && !isShown && !(error instanceof NameTaken) && (
        <ErrorNotice error={error} title={failure} />
      )}
      <div class="row">
        <Button type="submit" kind="primary" busy={isBusy} disabled={!isComplete}>
          {action}
        </Button>
        <Button kind="plain" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </Form>
  )
}

/** Shown at the name. */
export class NameTaken extends Error {}

const NO_FAULTS: ReadonlyMap<string, string> = new Map()
/** The members that have a field. */
const FIELD = /^(?:name|url|class|timeout|concurrency|topics\[\d+\]\.(?:name|needs|require_acr|require_age))$/

function TopicFields({
  topics,
  onTopics,
  faults,
}: {
  readonly topics: readonly RemoteTopic[]
  readonly onTopics: (topics: readonly RemoteTopic[]) => void
  readonly faults: ReadonlyMap<string, string>
}) {
  const scopes = usePlatformScopes(...topics.map(({ needs }) => needs).filter((needs) => needs !== 'identity'))
  const set = (index: number, change: Partial<RemoteTopic>) =>
    onTopics(topics.map((topic, place) => (place === index ? { ...topic, ...change } : topic)))
  return (
    <fieldset class="choices controller-topics">
      <legend>Topics</legend>
      <p class="hint">
        What can be requested, and by whom. <code>Query/*</code> is every topic that begins with <code>Query/</code>.
      </p>
      {topics.map(({ name, needs, require_acr: acr, require_age: age }, index) => (
        <div key={index} class="controller-topic">
          <TextField
            label={`Topic ${index + 1}`}
            hideLabel
            placeholder="Place"
            error={faults.get(`topics[${index}].name`)}
            value={name}
            onValue={(text) => set(index, { name: text })}
          />
          <Select
            label={`Who can request topic ${index + 1}`}
            hideLabel
            error={faults.get(`topics[${index}].needs`)}
            value={needs}
            onValue={(scope) => set(index, { needs: scope })}
            choices={[{ value: 'identity', title: 'Anyone who is signed in' }, ...scopes]}
          />
          <Select
            label={`Sign-in for topic ${index + 1}`}
            hideLabel
            error={faults.get(`topics[${index}].require_acr`)}
            value={String(acr ?? '')}
            onValue={(level) => set(index, { require_acr: level === '' ? undefined : Number(level) })}
            choices={[
              { value: '', title: 'Any sign-in' },
              { value: '1', title: 'Of a user' },
              { value: '2', title: 'With two factors' },
            ]}
          />
          <TextField
            label={`Seconds since the sign-in for topic ${index + 1}`}
            hideLabel
            inputMode="numeric"
            placeholder="Of any age"
            error={faults.get(`topics[${index}].require_age`)}
            value={String(age ?? '')}
            onValue={(text) => set(index, { require_age: demandedNumber(text) ?? undefined })}
          />
          {topics.length > 1 && (
            <IconButton
              icon="minus"
              label={`Remove topic ${index + 1}`}
              onClick={() => onTopics(topics.filter((_, place) => place !== index))}
            />
          )}
        </div>
      ))}
      <div>
        <Button
          size="small"
          kind="plain"
          icon="plus"
          onClick={() => onTopics([...topics, { name: '', needs: topics.at(-1)?.needs ?? 'identity' }])}
        >
          Another topic
        </Button>
      </div>
    </fieldset>
  )
}
