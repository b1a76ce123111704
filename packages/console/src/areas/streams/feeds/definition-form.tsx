/** The form of a feed's definition. What the server refuses is shown at its field. */
import { useState } from 'preact/hooks'
import { GatehouseError } from '../../../../../client/src/index.ts'
import { usePlatformScopes } from '../../../admin/platform-scopes.ts'
import { readFaults } from '../../../admin/tagged.ts'
import {
  Button,
  bytes,
  Checkbox,
  ErrorNotice,
  Form,
  Notice,
  Segments,
  Select,
  SignInDemandFields,
  TextField,
  useSubmit,
} from '../../../ui/index.ts'
import { typedWhole } from '../../../ui/number.ts'
import { DEFAULTS, type Draft } from './draft.ts'
import { CLASSES } from './feed.ts'

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

interface PartProps {
  readonly draft: Draft
  readonly set: (change: Partial<Draft>) => void
  readonly faults: ReadonlyMap<string, string>
}

const NO_FAULTS: ReadonlyMap<string, string> = new Map()

export function DefinitionForm({ draft: given, isNew = false, action, failure, onSubmit, onCancel }: Props) {
  const [draft, setDraft] = useState(given)
  const { isBusy, error, submit } = useSubmit(() => onSubmit(draft))
  const faults = readFaults(error) ?? NO_FAULTS
  const part: PartProps = { draft, faults, set: (change) => setDraft({ ...draft, ...change }) }
  const isTaken = error instanceof GatehouseError && error.status === 409
  const isShown = faults.size > 0 && [...faults.keys()].every((path) => FIELDS.has(path))
  const isComplete = !isNew || draft.name.trim() !== ''
  return (
    <Form class="form feed-form" error={error} onSubmit={() => isComplete && submit()}>
      {isNew && (
        <TextField
          label="Name"
          hint="Up to 64 letters, digits, underscores and dots. On a stream, it is the Controller of the messages. It cannot be changed later."
          placeholder="Prices"
          error={isTaken ? error.message : faults.get('name')}
          value={draft.name}
          onValue={(name) => part.set({ name })}
          required
          autofocus
        />
      )}
      <TextField
        label="Description"
        hint="What is published here. Shown in the list of feeds."
        placeholder="Quotes of all exchanges"
        error={faults.get('description')}
        value={draft.description}
        onValue={(description) => part.set({ description })}
      />
      <Rights {...part} />
      <SignIn {...part} />
      <Kept {...part} />
      <Bounds {...part} />
      {error !== undefined && !isTaken && !isShown && <ErrorNotice error={error} title={failure} />}
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

const DEMANDS = ['require_acr', 'require_age', 'write_require_acr', 'write_require_age']

/** The members of a definition that have a field. */
const FIELDS: ReadonlySet<string> = new Set([
  ...['name', 'description', 'class', 'read', 'write', 'history.messages', 'history.time', 'state_time'],
  ...['message_bytes', 'topics', 'bytes', 'rate', 'nats_subject'],
  ...DEMANDS,
])

function Rights({ draft, set, faults }: PartProps) {
  const scopes = usePlatformScopes(draft.write)
  return (
    <div class="feed-fields">
      <Select
        label="Who can read"
        hint="To subscribe, and to read state and history."
        error={faults.get('read')}
        value={draft.read}
        onValue={(read) => set({ read })}
        choices={[{ value: 'identity', title: 'Anyone who is signed in' }, ...scopes]}
      />
      <Select
        label="Who can publish"
        hint="The scope that publishers need."
        error={faults.get('write')}
        value={draft.write}
        onValue={(write) => set({ write })}
        choices={scopes}
      />
    </div>
  )
}

function SignIn({ draft, set, faults }: PartProps) {
  const isDemanding = [draft.readDemand, draft.writeDemand].some(({ acr, age }) => acr !== '' || age !== '')
  return (
    <details class="feed-folded" open={isDemanding || DEMANDS.some((path) => faults.has(path)) || undefined}>
      <summary>Sign-in</summary>
      <div class="feed-fields">
        <SignInDemandFields
          label="Sign-in for reading"
          demand={draft.readDemand}
          onDemand={(readDemand) => set({ readDemand })}
          acrError={faults.get('require_acr')}
          ageError={faults.get('require_age')}
        />
        <SignInDemandFields
          label="Sign-in for publishing"
          demand={draft.writeDemand}
          onDemand={(writeDemand) => set({ writeDemand })}
          acrError={faults.get('write_require_acr')}
          ageError={faults.get('write_require_age')}
        />
      </div>
    </details>
  )
}

const KEEP_HINTS = {
  latest:
    'The newest message of a topic is its state: new subscribers get it first, and slow ones may skip older messages. Suited to prices.',
  all: 'Subscribers get every message; none is skipped. Suited to orders and news.',
} as const

function Kept({ draft, set, faults }: PartProps) {
  return (
    <fieldset class="choices">
      <legend>What is kept</legend>
      <div>
        <Segments
          label="What is kept"
          value={draft.keep}
          onValue={(keep) => set({ keep })}
          choices={[
            { value: 'latest', title: 'Latest' },
            { value: 'all', title: 'All' },
          ]}
        />
      </div>
      <p class="hint">{KEEP_HINTS[draft.keep]}</p>
      <Checkbox
        label="Keep a history of each topic"
        hint="Clients that were away resume from it without a gap."
        checked={draft.hasHistory}
        onChecked={(hasHistory) => set({ hasHistory })}
      />
      {draft.hasHistory && (
        <div class="feed-fields feed-indented">
          <TextField
            label="Messages per topic"
            hint="From 1 to 100,000."
            inputMode="numeric"
            error={faults.get('history.messages')}
            value={draft.historyMessages}
            onValue={(historyMessages) => set({ historyMessages })}
          />
          <TextField
            label="Maximum age"
            hint="Such as 1 hour or 7 days; up to 30 days."
            error={faults.get('history.time')}
            value={draft.historyTime}
            onValue={(historyTime) => set({ historyTime })}
          />
        </div>
      )}
      {draft.keep === 'latest' ? (
        <TextField
          label="State expires after"
          hint="A topic is removed if nothing is published to it for this long, such as 1 day. Leave empty to keep it."
          placeholder="Never"
          error={faults.get('state_time')}
          value={draft.stateTime}
          onValue={(stateTime) => set({ stateTime })}
        />
      ) : (
        !draft.hasHistory && (
          <Notice>Nothing is stored: a message reaches only those who are subscribed when it is published.</Notice>
        )
      )}
    </fieldset>
  )
}

const BOUNDS = ['class', 'message_bytes', 'topics', 'bytes', 'rate', 'nats_subject']

function Bounds({ draft, set, faults }: PartProps) {
  return (
    <details class="feed-folded" open={BOUNDS.some((path) => faults.has(path)) || undefined}>
      <summary>Class, limits and NATS</summary>
      <div class="feed-fields">
        <Select
          label="Class"
          hint="For clients of protocol version 2."
          error={faults.get('class')}
          value={draft.class}
          onValue={(value) => set({ class: value })}
          choices={CLASSES}
        />
        <TextField
          label="NATS subject"
          hint="Optional: an existing subject to offer as this feed."
          placeholder="md.prices.>"
          error={faults.get('nats_subject')}
          value={draft.natsSubject}
          onValue={(natsSubject) => set({ natsSubject })}
        />
        <TextField
          label="Maximum message size, in bytes"
          hint={`${sizeText(draft.messageBytes || DEFAULTS.messageBytes)}; up to 1,048,576 bytes.`}
          inputMode="numeric"
          placeholder={DEFAULTS.messageBytes}
          error={faults.get('message_bytes')}
          value={draft.messageBytes}
          onValue={(messageBytes) => set({ messageBytes })}
        />
        <TextField
          label="Maximum storage, in bytes"
          hint={`${sizeText(draft.bytes || DEFAULTS.bytes)}, for all topics together.`}
          inputMode="numeric"
          placeholder={DEFAULTS.bytes}
          error={faults.get('bytes')}
          value={draft.bytes}
          onValue={(value) => set({ bytes: value })}
        />
        <TextField
          label="Maximum topics"
          hint="Topics that have a state or history."
          inputMode="numeric"
          placeholder={DEFAULTS.topics}
          error={faults.get('topics')}
          value={draft.topics}
          onValue={(topics) => set({ topics })}
        />
        <TextField
          label="Maximum messages per second"
          hint="From all publishers together."
          inputMode="numeric"
          placeholder={DEFAULTS.rate}
          error={faults.get('rate')}
          value={draft.rate}
          onValue={(rate) => set({ rate })}
        />
      </div>
    </details>
  )
}

function sizeText(text: string): string {
  const number = Number(typedWhole(text))
  return Number.isFinite(number) ? bytes(number) : 'A whole number'
}
