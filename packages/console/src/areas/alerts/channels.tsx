/** The channels that operators declare: where notices go. */
import { useSignal } from '@preact/signals'
import { attempt, confirmAndAttempt, readFaults } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { toast } from '../../shell/toasts.tsx'
import {
  Await,
  Badge,
  Button,
  Copy,
  Dialog,
  Empty,
  ErrorNotice,
  FormDialog,
  Menu,
  Page,
  Select,
  Table,
  TextField,
  useLoad,
  useSubmit,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { AlertTabs } from './tabs.tsx'

interface Channel {
  readonly name: string
  readonly kind: 'webhook' | 'mail' | 'feed'
  readonly url?: string
  readonly format?: string
  readonly to?: string
  readonly feed?: string
  readonly use: string
  readonly disabled: boolean
  /** Shown once. */
  readonly secret?: string
}

const PATH = '/admin/channels'

export function Channels() {
  const channels = useLoad(async (signal) => ((await gate.json(PATH, { signal })) as { items: Channel[] }).items, [])
  const isAdding = useSignal(false)
  const made = useSignal<Channel | undefined>(undefined)
  const add = (
    <Button
      kind="primary"
      icon="plus"
      onClick={() => {
        isAdding.value = true
      }}
    >
      Add a channel
    </Button>
  )
  return (
    <Page title="Channels" bar={<AlertTabs current="channels" />} actions={add}>
      <Await of={channels} title="The channels could not be loaded">
        {(items) =>
          items.length === 0 ? (
            <Empty icon="bell" title="There are no channels yet" actions={add}>
              A channel is where notices go: a program, a room in Slack or Teams, a mailbox, a feed.
            </Empty>
          ) : (
            <ChannelTable
              items={items}
              onChange={channels.reload}
              onMade={(channel) => {
                made.value = channel
              }}
            />
          )
        }
      </Await>
      {isAdding.value && (
        <AddDialog
          onClose={() => {
            isAdding.value = false
          }}
          onDone={(channel) => {
            isAdding.value = false
            if (channel.secret === undefined) toast(`${channel.name} was added`)
            else made.value = channel
            channels.reload()
          }}
        />
      )}
      {made.value?.secret !== undefined && (
        <Dialog
          title="The key, which is shown only now"
          onClose={() => {
            made.value = undefined
          }}
          actions={
            <Button
              onClick={() => {
                made.value = undefined
              }}
            >
              Done
            </Button>
          }
        >
          <p>The receiver verifies with it what this server sends, as Standard Webhooks has it.</p>
          <p class="row">
            <code class="alert-key">{made.value.secret}</code>
            <Copy text={made.value.secret} label="Copy the key" />
          </p>
        </Dialog>
      )}
    </Page>
  )
}

function ChannelTable({
  items,
  onChange,
  onMade,
}: {
  readonly items: readonly Channel[]
  readonly onChange: () => void
  readonly onMade: (channel: Channel) => void
}) {
  const one = ({ name }: Channel) => `${PATH}/${encodeURIComponent(name)}`
  const test = async (channel: Channel) => {
    await attempt(async () => {
      const { error } = (await gate.json(`${one(channel)}/test`, { method: 'POST' })) as { error: string | null }
      if (error !== null) throw new Error(error)
    }, `${channel.name} has taken the test`)
  }
  const rotate = async (channel: Channel) => {
    await attempt(async () => {
      onMade((await gate.json(`${one(channel)}/rotate`, { method: 'POST', headers: { 'if-match': '*' } })) as Channel)
    }, `${channel.name} has a new key`)
  }
  const change = async (channel: Channel, disabled: boolean) => {
    const done = disabled ? `${channel.name} is disabled` : `${channel.name} is enabled`
    const headers = { 'if-match': '*', 'content-type': 'application/merge-patch+json' }
    const work = () => gate.json(one(channel), { method: 'PATCH', headers, body: { disabled } })
    if (await attempt(work, done)) onChange()
  }
  const remove = async (channel: Channel) => {
    const isRemoved = await confirmAndAttempt(
      { title: `Remove ${channel.name}?`, text: 'What waits for it is dropped.', action: 'Remove' },
      () => gate.json(one(channel), { method: 'DELETE' }),
      `${channel.name} was removed`,
    )
    if (isRemoved) onChange()
  }
  return (
    <Table
      label="Channels"
      rows={items}
      rowKey={({ name }) => name}
      columns={[
        { title: 'Channel', cell: ({ name }) => name },
        {
          title: 'Kind',
          cell: ({ kind, format }) =>
            format === undefined || format === 'standard' ? KINDS[kind] : (FORMATS[format] ?? format),
        },
        { title: 'To', wide: true, cell: ({ url, to, feed }) => url ?? to ?? feed ?? '–' },
        { title: 'For', wide: true, cell: ({ use }) => <code>{use}</code> },
        {
          title: 'State',
          cell: ({ disabled }) =>
            disabled ? <Badge kind="warning">Disabled</Badge> : <Badge kind="good">Enabled</Badge>,
        },
        {
          title: 'Actions',
          kind: 'actions',
          cell: (channel) => (
            <Menu
              label={`More about ${channel.name}`}
              items={[
                ...(channel.kind === 'webhook'
                  ? [{ title: 'Send a test', icon: 'bolt', act: () => void test(channel) } as const]
                  : []),
                ...(channel.format === 'standard'
                  ? [{ title: 'New key', icon: 'key', act: () => void rotate(channel) } as const]
                  : []),
                channel.disabled
                  ? { title: 'Enable', icon: 'check', act: () => void change(channel, false) }
                  : { title: 'Disable', icon: 'lock', act: () => void change(channel, true) },
                'line',
                { title: 'Remove', icon: 'trash', danger: true, act: () => void remove(channel) },
              ]}
            />
          ),
        },
      ]}
    />
  )
}

const KINDS: Readonly<Record<Channel['kind'], string>> = {
  webhook: word('Webhook'),
  mail: word('Mail'),
  feed: word('Feed'),
}
const FORMATS: Readonly<Record<string, string>> = { slack: 'Slack', teams: 'Teams' }

type Choice = 'standard' | 'slack' | 'teams' | 'mail' | 'feed'

/** What a kind needs: the member, and what it is called. */
const NEEDS: Readonly<
  Record<Choice, { readonly member: string; readonly label: string; readonly placeholder: string }>
> = {
  standard: { member: 'url', label: word('Address'), placeholder: 'https://hooks.example.com/gate' },
  slack: {
    member: 'secret',
    label: word('Address of the incoming webhook'),
    placeholder: 'https://hooks.slack.com/services/…',
  },
  teams: { member: 'secret', label: word('Address of the workflow'), placeholder: 'https://….logic.azure.com/…' },
  mail: { member: 'to', label: word('E-mail address'), placeholder: 'desk@example.com' },
  feed: { member: 'feed', label: word('Name of the feed'), placeholder: 'Notices' },
}

function AddDialog({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: (channel: Channel) => void }) {
  const name = useSignal('')
  const choice = useSignal<Choice>('standard')
  const value = useSignal('')
  const use = useSignal('Platform/Market')
  const { member, label, placeholder } = NEEDS[choice.value]
  const { isBusy, error, submit } = useSubmit(async () => {
    const kind = choice.value === 'mail' || choice.value === 'feed' ? choice.value : 'webhook'
    const format = kind === 'webhook' && choice.value !== 'standard' ? { format: choice.value } : {}
    const body = { name: name.value.trim(), kind, ...format, [member]: value.value.trim(), use: use.value.trim() }
    onDone((await gate.json(PATH, { method: 'POST', body })) as Channel)
  })
  const faults = readFaults(error)
  const isElsewhere = error !== undefined && !['name', member, 'use'].some((field) => faults?.has(field) === true)
  return (
    <FormDialog
      title="Add a channel"
      action="Add"
      busy={isBusy}
      disabled={name.value.trim() === '' || value.value.trim() === ''}
      onClose={onClose}
      onSubmit={() => submit()}
    >
      <TextField
        label="Name"
        placeholder="desk-hook"
        value={name.value}
        onValue={(text) => {
          name.value = text
        }}
        error={faults?.get('name')}
        autofocus
      />
      <Select
        label="Kind"
        value={choice.value}
        onValue={(kind) => {
          choice.value = kind as Choice
        }}
        choices={[
          { value: 'standard', title: 'Webhook, signed' },
          { value: 'slack', title: 'Slack' },
          { value: 'teams', title: 'Teams' },
          { value: 'mail', title: 'Mail' },
          { value: 'feed', title: 'Feed' },
        ]}
      />
      <TextField
        label={label}
        placeholder={placeholder}
        value={value.value}
        onValue={(text) => {
          value.value = text
        }}
        error={faults?.get(member)}
      />
      <TextField
        label="Who may use it"
        hint="The scope that the owner of an alert needs."
        value={use.value}
        onValue={(text) => {
          use.value = text
        }}
        error={faults?.get('use')}
      />
      {isElsewhere && <ErrorNotice error={error} title="The channel was not added" />}
    </FormDialog>
  )
}
