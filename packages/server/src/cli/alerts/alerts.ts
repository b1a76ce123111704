/** `gatehouse alert …`: the alerts of the user, through the client library. */
import type { Alert, AlertDelivery, Silence } from '../../../../client/src/index.ts'
import type { Arguments, OptionName } from '../args.ts'
import { askFirst } from '../ask.ts'
import { CommandError, UsageError } from '../errors.ts'
import { type Gate, withGate } from '../gate.ts'
import { writeExactly } from '../output/json.ts'
import { cellText, printableLines, printTable } from '../output/table.ts'
import { readParameters } from '../query/input.ts'
import { ALERT_OPTIONS } from './alert-options.ts'

const LISTED = 50

export function addAlert(args: Arguments): Promise<void> {
  const [name = '', statement = ''] = args.positionals
  return withGate(args, async (gate) => {
    const made = await gate.alerts.create({ name, statement, ...readMembers(args) })
    printOr(args, made, () => {
      const watched = made.watched === null ? 'It was not evaluated yet.' : `It is ${made.state}.`
      process.stdout.write(`Made the alert ${made.id}. ${watched}\n`)
    })
  })
}

export function listAlerts(args: Arguments): Promise<void> {
  return withGate(args, async (gate) => {
    const alerts = await Array.fromAsync(gate.alerts.list())
    printOr(args, { items: alerts }, () =>
      printTable(
        ['name', 'state', 'mode', 'when', 'channels', 'id'],
        alerts.map(({ name, state, mode, when = '', channels, id }) => [
          name,
          state,
          mode,
          when,
          channels.join(' '),
          id,
        ]),
      ),
    )
  })
}

export function showAlert(args: Arguments): Promise<void> {
  return withAlert(args, async (gate, { id }) => printAlert(args, await gate.alerts.get(id)))
}

export function setAlert(args: Arguments): Promise<void> {
  const named = ['name', 'statement'].flatMap((member) => given(args, `--${member}`).map((text) => [member, text]))
  const defaults = args.values('--default').map((member) => [member, null])
  const patch = { ...Object.fromEntries([...named, ...defaults]), ...readMembers(args) }
  if (Object.keys(patch).length === 0) throw new UsageError('Say what to change')
  return changeAlert(args, patch)
}

export function pauseAlert(args: Arguments): Promise<void> {
  return changeAlert(args, { paused: true })
}

export function resumeAlert(args: Arguments): Promise<void> {
  return changeAlert(args, { paused: false })
}

export function silenceAlert(args: Arguments): Promise<void> {
  const key = readKey(args.value('--key'))
  if (args.has('--end')) return withAlert(args, (gate, { id }) => gate.alerts.unsilence(id, key))
  const [time, until] = [args.value('--for'), args.value('--until')]
  if ((time === undefined) === (until === undefined)) throw new UsageError('Give --for or --until')
  const end = time === undefined ? { until: until ?? '' } : { for: time }
  const silence: Silence = { ...end, ...(key !== undefined && { key }) }
  return withAlert(args, async (gate, { id }) => printAlert(args, await gate.alerts.silence(id, silence)))
}

export function testAlert(args: Arguments): Promise<void> {
  return withAlert(args, async (gate, { id }) => {
    const items = await gate.alerts.test(id)
    printOr(args, { items }, () => {
      const line =
        items.length === 0 ? 'It has no channel.' : `Sent to ${items.map(({ channel }) => channel).join(', ')}.`
      process.stdout.write(`${line}\n`)
    })
  })
}

export function showWebhook(args: Arguments): Promise<void> {
  const [url = ''] = args.positionals
  return withGate(args, async (gate) => {
    const webhook = await gate.alerts.webhook(url)
    printOr(args, webhook, () => process.stdout.write(`${webhook.secret}\n`))
  })
}

export function showHistory(args: Arguments): Promise<void> {
  return withAlert(args, async (gate, { id }) => {
    const items = await take(gate.alerts.history(id), args)
    printOr(args, { items }, () =>
      printTable(
        ['at', 'type', 'key', 'row'],
        items.map(({ at, type, key, row }) => [at, type, cellText(key), cellText(row)]),
      ),
    )
  })
}

export function showDeliveries(args: Arguments): Promise<void> {
  return withAlert(args, async (gate, { id }) => {
    const items = await take(gate.alerts.deliveries(id), args)
    printOr(args, { items }, () => printDeliveries(items))
  })
}

export function retryDelivery(args: Arguments): Promise<void> {
  const [, delivery = ''] = args.positionals
  return withAlert(args, async (gate, { id }) => {
    const item = await gate.alerts.retry(id, delivery)
    printOr(args, item, () => printDeliveries([item]))
  })
}

export function removeAlert(args: Arguments): Promise<void> {
  return withAlert(args, async (gate, { id, name }) => {
    if (!args.has('--yes')) await askFirst(`Delete the alert ${name}?`)
    await gate.alerts.delete(id)
    process.stdout.write(`The alert ${name} was deleted.\n`)
  })
}

function changeAlert(args: Arguments, patch: object): Promise<void> {
  return withAlert(args, async (gate, { id }) => printAlert(args, await gate.alerts.update(id, patch)))
}

/** By its name, or by its id. */
function withAlert(args: Arguments, act: (gate: Gate, alert: Alert) => Promise<void>): Promise<void> {
  const [wanted = ''] = args.positionals
  return withGate(args, async (gate) => {
    for await (const alert of gate.alerts.list())
      if (alert.name === wanted || alert.id === wanted) {
        await act(gate, alert)
        return
      }
    throw new CommandError(`You have no alert "${wanted}"`)
  })
}

function given(args: Arguments, name: OptionName): readonly string[] {
  const value = args.value(name)
  return value === undefined ? [] : [value]
}

function readMembers(args: Arguments): object {
  const texts = Object.keys(ALERT_OPTIONS).flatMap((name) =>
    given(args, `--${name.slice(2)}`).map((text) => [name.slice(2).replaceAll('-', '_'), text]),
  )
  const parameters = readParameters(args)
  return {
    ...Object.fromEntries(texts),
    ...(parameters.size > 0 && { parameters: Object.fromEntries(parameters) }),
    ...(args.has('--channel') && { channels: args.values('--channel') }),
    ...(args.has('--active') && { active: args.values('--active').map(readActive) }),
    ...(args.has('--event') && { mode: 'event' as const }),
    ...(args.has('--no-resolved') && { resolved: false }),
  }
}

/** `mon,tue 09:30-16:00`, or without days. */
function readActive(text: string): object {
  const [, days, from, to] = /^(?:([a-z,]+) )?(\d\d:\d\d)-(\d\d:\d\d)$/.exec(text) ?? []
  if (from === undefined || to === undefined)
    throw new UsageError(`--active needs such as "mon,tue 09:30-16:00", not ${text}`)
  return { ...(days !== undefined && { days: days.split(',') }), from, to }
}

function readKey(text: string | undefined): readonly unknown[] | undefined {
  if (text === undefined) return undefined
  try {
    const key: unknown = JSON.parse(text)
    if (Array.isArray(key)) return key
  } catch {
    // Refused below.
  }
  throw new UsageError('--key needs the JSON of a key, such as \'["BHP"]\'')
}

async function take<Item>(items: AsyncIterable<Item>, args: Arguments): Promise<readonly Item[]> {
  const most = args.integer('--limit', { least: 1, most: 10_000 }) ?? LISTED
  const taken: Item[] = []
  for await (const item of items) {
    taken.push(item)
    if (taken.length === most) break
  }
  return taken
}

function printOr(args: Arguments, reply: unknown, print: () => void): void {
  if (args.has('--json')) process.stdout.write(`${printableLines(writeExactly(reply))}\n`)
  else print()
}

function printAlert(args: Arguments, alert: Alert): void {
  printOr(args, alert, () => {
    const { instances = [], silences = [], ...members } = alert
    printTable(
      ['alert', alert.name],
      Object.entries(members)
        .filter(([member, value]) => member !== 'name' && value !== null)
        .map(([member, value]) => [member, cellText(value)]),
    )
    for (const { key, state, since, row } of instances)
      process.stdout.write(`${printableLines(`${state} since ${since}: ${cellText(key)} ${cellText(row)}`)}\n`)
    for (const { key, until } of silences)
      process.stdout.write(
        `${printableLines(`silent until ${until}${key === undefined ? '' : `: ${cellText(key)}`}`)}\n`,
      )
  })
}

function printDeliveries(items: readonly AlertDelivery[]): void {
  printTable(
    ['created', 'channel', 'sequence', 'state', 'attempts', 'error', 'id'],
    items.map(({ created, channel, sequence, state, attempts, error, id }) => [
      ...[created, channel, String(sequence), state, String(attempts)],
      ...[error ?? '', id],
    ]),
  )
}
