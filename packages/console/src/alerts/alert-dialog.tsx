/** Makes an alert of a result, or changes one: when it fires, and where its notices go. */
import { useSignal } from '@preact/signals'
import type { Alert, AlertChannel } from '../../../client/src/index.ts'
import { readFaults } from '../admin/tagged.ts'
import { gate } from '../gate.ts'
import { canPush, pushId, readPush, startPush } from '../push.ts'
import {
  Await,
  Checkboxes,
  Code,
  ErrorNotice,
  FormDialog,
  Select,
  TextArea,
  TextField,
  useLoad,
  useSubmit,
} from '../ui/index.ts'
import { word } from '../ui/word.ts'

export interface AlertDraft {
  readonly name: string
  readonly statement: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly when: string
}

export interface AlertDialogProps {
  readonly draft: AlertDraft
  /** The alert that is changed. */
  readonly alert?: Alert
  readonly onClose: () => void
  readonly onDone: (alert: Alert) => void
}

const TIMES = ['', '10 seconds', '1 minute', '5 minutes', '15 minutes', '1 hour']
const REPEATS = ['', '5 minutes', '15 minutes', '1 hour', '6 hours', '1 day']
const FIELDS = ['name', 'statement', 'when', 'until', 'for', 'repeat', 'title', 'channels']

export function AlertDialog({ draft, alert, onClose, onDone }: AlertDialogProps) {
  const channels = useLoad((signal) => listChannels(signal), [])
  const name = useSignal(draft.name)
  const statement = useSignal(draft.statement)
  const when = useSignal(draft.when)
  const until = useSignal(alert?.until ?? '')
  const lasting = useSignal(alert?.for ?? '')
  const repeat = useSignal(alert?.repeat ?? '')
  const title = useSignal(alert?.title ?? '')
  const mode = useSignal<string>(alert?.mode ?? 'state')
  const chosen = useSignal<readonly string[] | undefined>(alert?.channels)
  const channelNames = chosen.value ?? (channels.data === undefined ? [] : chooseFirst(channels.data))
  const { isBusy, error, submit } = useSubmit(async () => {
    const isEvent = mode.value === 'event'
    // In the click: browsers ask their user only then.
    if (channelNames.includes('push') && pushId.value === undefined) await startPush()
    const members = {
      ...{
        name: name.value.trim(),
        statement: statement.value,
        mode: isEvent ? ('event' as const) : ('state' as const),
      },
      ...{ channels: channelNames, when: orNull(when.value), title: orNull(title.value) },
      until: isEvent ? null : orNull(until.value),
      for: isEvent ? null : orNull(lasting.value),
      repeat: isEvent ? null : orNull(repeat.value),
    }
    const done =
      alert === undefined
        ? await gate.alerts.create({ ...withoutNull(members), parameters: draft.parameters })
        : await gate.alerts.update(alert.id, members, { ifMatch: `"${alert.version}"` })
    onDone(done)
  })
  const faults = readFaults(error)
  const fault = (member: string) =>
    [...(faults ?? [])].find(([path]) => path === member || path.startsWith(`${member}[`))?.[1]
  const isElsewhere = error !== undefined && !FIELDS.some((member) => fault(member) !== undefined)
  return (
    <FormDialog
      title={alert === undefined ? 'New alert' : 'Change the alert'}
      action={alert === undefined ? 'Create' : 'Save'}
      busy={isBusy}
      disabled={name.value.trim() === '' || channels.data === undefined}
      onClose={onClose}
      onSubmit={() => submit()}
    >
      <TextField
        label="Name"
        value={name.value}
        onValue={(value) => set(name, value)}
        maxLength={200}
        error={fault('name')}
      />
      {alert === undefined ? (
        <>
          <Code label="Statement" text={statement.value} />
          {fault('statement') !== undefined && <p class="fault">{fault('statement')}</p>}
        </>
      ) : (
        <TextArea
          label="Statement"
          value={statement.value}
          onValue={(value) => set(statement, value)}
          error={fault('statement')}
        />
      )}
      <TextField
        label="Fires when"
        hint="A condition over the columns of the result. Empty: for every row."
        placeholder="spread > 0.5"
        value={when.value}
        onValue={(value) => set(when, value)}
        error={fault('when')}
        autofocus
      />
      <Await of={channels} title="The channels could not be listed">
        {(found) => (
          <fieldset class="choices">
            <legend>Tell</legend>
            {found.length === 0 && (
              <p class="quiet">Nobody: there is no channel that you may use. The history has it.</p>
            )}
            <Checkboxes
              items={[
                ...found.map((channel) => ({
                  name: channel.name,
                  label: channelTitle(channel),
                  hint: channelHint(channel),
                })),
                // Addresses of the owner, and channels that they may no longer use.
                ...(alert?.channels ?? [])
                  .filter((known) => !found.some((channel) => channel.name === known))
                  .map((known) => ({ name: known })),
              ]}
              chosen={channelNames}
              onChosen={(names) => {
                chosen.value = names
              }}
            />
            {fault('channels') !== undefined && <p class="fault">{fault('channels')}</p>}
          </fieldset>
        )}
      </Await>
      <details class="alert-more" open={alert !== undefined || undefined}>
        <summary>More</summary>
        <Select
          label="Each key"
          value={mode.value}
          onValue={(value) => set(mode, value)}
          choices={[
            { value: 'state', title: 'begins and ends' },
            { value: 'event', title: 'is sent once, when it comes to match' },
          ]}
        />
        {mode.value === 'state' && (
          <>
            <TextField
              label="Ends when"
              hint="Empty: when the condition above is no longer true."
              placeholder="spread < 0.3"
              value={until.value}
              onValue={(value) => set(until, value)}
              error={fault('until')}
            />
            <Select
              label="Only if it lasts"
              value={lasting.value}
              onValue={(value) => set(lasting, value)}
              choices={timeChoices(TIMES, lasting.value, word('at once'))}
            />
            <Select
              label="Tell again while it fires"
              value={repeat.value}
              onValue={(value) => set(repeat, value)}
              choices={timeChoices(REPEATS, repeat.value, word('never'))}
            />
          </>
        )}
        <TextField
          label="Title"
          hint="A template, such as {{symbol}} {{spread}}. Empty: the name and the state."
          value={title.value}
          onValue={(value) => set(title, value)}
          error={fault('title')}
        />
      </details>
      {isElsewhere && (
        <ErrorNotice
          error={error}
          title={alert === undefined ? 'The alert was not made' : 'The alert was not changed'}
        />
      )}
    </FormDialog>
  )
}

function set(field: { value: string }, value: string): void {
  field.value = value
}

function orNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim()
}

function withoutNull<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: NonNullable<Members[Name]> } {
  const given = Object.entries(members).filter(([, value]) => value !== null)
  return Object.fromEntries(given) as { [Name in keyof Members]?: NonNullable<Members[Name]> }
}

/** Those of browsers only where this one can get notices. */
async function listChannels(signal: AbortSignal): Promise<readonly AlertChannel[]> {
  const [channels] = await Promise.all([gate.alerts.channels({ signal }), readPush()])
  return channels.filter(({ name }) => name !== 'push' || canPush())
}

/** The own browser or mailbox, before what others see. */
function chooseFirst(channels: readonly AlertChannel[]): readonly string[] {
  const named = (wanted: string) => channels.find(({ name }) => name === wanted)
  const own = (pushId.value === undefined ? undefined : named('push')) ?? named('mail')
  const first = own ?? channels.find(({ name, disabled }) => name !== 'push' && disabled !== true) ?? named('push')
  return first === undefined ? [] : [first.name]
}

function channelTitle({ name }: AlertChannel): string {
  if (name === 'mail') return word('Your mail')
  return name === 'push' ? word('Your browsers') : name
}

function channelHint({ name, kind, disabled }: AlertChannel): string | undefined {
  if (name === 'push' && pushId.value === undefined) return word('This browser asks you for it.')
  return disabled === true ? `${kind}, disabled` : undefined
}

function timeChoices(times: readonly string[], chosen: string, none: string) {
  const all = times.includes(chosen) ? times : [...times, chosen]
  return all.map((time) => ({ value: time, title: time === '' ? none : time }))
}
