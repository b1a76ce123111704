/** What an alert is in a request and in a declarative file, and what can be wrong with it by itself. */
import type { XStatic } from 'typebox/schema'
import { DURATION, readDuration, writeDuration } from '../lib/duration.ts'
import { isTimeZone } from '../lib/time-zones.ts'
import { closed, flag, oneOf, shortList, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import { type ActiveTime, type AlertDefinition, DAYS } from '../store/alerts/alert.ts'
import { DURATION_PATTERN } from './controller-names.ts'
import type { JsonObject } from './define-resource.ts'

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/
const MOST_CHANNELS = 20
const CONDITION = { minLength: 1, maxLength: 4096 } as const
const time = (description: string) => text({ pattern: DURATION.source, examples: ['10 seconds'], description })

export const ALERT_MEMBERS = {
  name: words('What people call it; unique among those of the owner.'),
  statement: text({ minLength: 1, maxLength: 65_536, description: 'A SELECT that can be live, with a key.' }),
  parameters: { type: 'object', maxProperties: 100, description: 'The values of its parameters, by name.' },
  mode: oneOf(
    ['state', 'event'],
    'state: a key of the result is in a state. event: each key that comes to match is one event. Default: state.',
  ),
  when: text({ ...CONDITION, description: 'A condition over the columns of the result. Default: every row.' }),
  until: text({ ...CONDITION, description: 'What ends it. Default: `when` is no longer true.' }),
  for: time('How long `when` must hold to fire, up to 1 day. Default: not at all.'),
  keep_firing: time('How long the end must hold, up to 1 day. Default: not at all.'),
  elapsed: time('The least time between deliveries about one key. Default: none.'),
  repeat: time('Tells it again while it fires, from 1 minute on. Default: never.'),
  absent: time('Fires, with the key null, when no row has matched for so long. Default: never.'),
  group: time('How long deliveries wait to be one, up to 1 hour. Default: 5 seconds.'),
  active: shortList(
    closed(['from', 'to'], {
      days: { ...shortList(oneOf(DAYS)), minItems: 1, description: 'Default: every day.' },
      from: text({ pattern: TIME.source, examples: ['09:30'] }),
      to: text({ pattern: TIME.source, examples: ['16:00'], description: 'Before `from`: of the next day.' }),
    }),
    'When deliveries leave, by the clock of the zone. Default: always.',
  ),
  zone: text({ minLength: 1, maxLength: 64, examples: ['America/New_York'], description: 'Default: UTC.' }),
  resolved: flag('Whether the end sends a notice. Default: true.'),
  paused: flag('Nothing is evaluated. Default: false.'),
  title: text({
    minLength: 1,
    maxLength: 1024,
    description: 'A template: {{column}}, {{name}}, {{state}}, {{count}}, {{alert}}.',
  }),
  text: text({ minLength: 1, maxLength: 4096, description: 'A template of the text below the title.' }),
  channels: {
    ...shortList(words()),
    description:
      'Where notices go, such as mail, or an https address of the owner where alert_own_webhooks is on. Default: nowhere but in its history.',
  },
} as const

export const ALERT = closed(['name', 'statement'], ALERT_MEMBERS)

export const ALERT_PATTERNS: readonly (readonly [string, string])[] = [
  DURATION_PATTERN,
  [TIME.source, 'must be a time such as 09:30'],
]

export type DeclaredAlert = XStatic<typeof ALERT>

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const GROUP_MS = 5_000

/** The least and the longest of each time. */
const RANGES = [
  ['for', 0, DAY],
  ['keep_firing', 0, DAY],
  ['elapsed', 0, DAY],
  ['repeat', MINUTE, 7 * DAY],
  ['absent', 1000, 7 * DAY],
  ['group', 0, HOUR],
] as const

/** Members that are about states. */
const OF_STATES = ['until', 'for', 'keep_firing', 'repeat', 'absent', 'resolved'] as const

export function alertFaults(alert: DeclaredAlert): Fault[] {
  const faults: Fault[] = []
  const fault = (path: string, text: string) => faults.push({ path, text })
  for (const [member, least, most] of RANGES) {
    const given = alert[member]
    const milliseconds = given === undefined ? undefined : readDuration(given)
    if (milliseconds !== undefined && (milliseconds < least || milliseconds > most))
      fault(member, `must be from ${writeDuration(least)} to ${writeDuration(most)}`)
  }
  if (alert.mode === 'event')
    for (const member of OF_STATES)
      if (alert[member] !== undefined) fault(member, 'is about states, and the mode is event')
  if (alert.zone !== undefined && !isTimeZone(alert.zone)) fault('zone', 'is not a time zone such as Europe/London')
  const { channels = [], active = [] } = alert
  for (const [index, { from, to }] of active.entries())
    if (from === to) fault(`active[${index}].to`, 'must differ from `from`: for a whole day use 00:00 and 24:00')
  if (channels.length > MOST_CHANNELS) fault('channels', `must be at most ${MOST_CHANNELS}`)
  for (const [index, name] of channels.entries())
    if (channels.indexOf(name) < index) fault(`channels[${index}]`, 'is there twice')
  return faults
}

const ADDRESS = /^https?:/i

/** Whether what an alert names as a channel is an address of its owner. Names of channels have no colon. */
export function isAddress(channel: string): boolean {
  return ADDRESS.test(channel)
}

/** With the defaults. The declaration has no faults. */
export function toAlertDefinition(alert: DeclaredAlert): AlertDefinition {
  const duration = (given: string | undefined, or = 0) => (given === undefined ? or : (readDuration(given) ?? or))
  return {
    statement: alert.statement,
    parameters: Object.fromEntries(Object.entries(alert.parameters ?? {})),
    mode: alert.mode ?? 'state',
    when: alert.when ?? '',
    until: alert.until ?? '',
    forMs: duration(alert.for),
    keepFiringMs: duration(alert.keep_firing),
    elapsedMs: duration(alert.elapsed),
    repeatMs: duration(alert.repeat),
    absentMs: duration(alert.absent),
    groupMs: duration(alert.group, GROUP_MS),
    active: (alert.active ?? []).map(toActiveTime),
    zone: alert.zone ?? 'UTC',
    resolved: alert.resolved ?? true,
    paused: alert.paused ?? false,
    title: alert.title ?? '',
    text: alert.text ?? '',
    channels: alert.channels ?? [],
  }
}

function toActiveTime({ days = [], from, to }: NonNullable<DeclaredAlert['active']>[number]): ActiveTime {
  return { days, from: readMinutes(from), to: readMinutes(to) }
}

function readMinutes(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number)
  return hours * 60 + minutes
}

function writeMinutes(minutes: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

/** Without the members that have their default. */
export function declareAlert(name: string, definition: AlertDefinition): JsonObject {
  const { statement, parameters, mode, when, until, groupMs, active, zone, resolved, paused, title, text } = definition
  const { channels } = definition
  const duration = (member: string, milliseconds: number) =>
    milliseconds === 0 ? {} : { [member]: writeDuration(milliseconds) }
  return {
    ...{ name, statement },
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...(mode !== 'state' && { mode }),
    ...(when !== '' && { when }),
    ...(until !== '' && { until }),
    ...duration('for', definition.forMs),
    ...duration('keep_firing', definition.keepFiringMs),
    ...duration('elapsed', definition.elapsedMs),
    ...duration('repeat', definition.repeatMs),
    ...duration('absent', definition.absentMs),
    ...(groupMs !== GROUP_MS && { group: groupMs === 0 ? '0 seconds' : writeDuration(groupMs) }),
    ...(active.length > 0 && { active: active.map(declareActiveTime) }),
    ...(zone !== 'UTC' && { zone }),
    ...(!resolved && { resolved }),
    ...(paused && { paused }),
    ...(title !== '' && { title }),
    ...(text !== '' && { text }),
    ...(channels.length > 0 && { channels }),
  }
}

function declareActiveTime({ days, from, to }: ActiveTime): JsonObject {
  return { ...(days.length > 0 && { days }), from: writeMinutes(from), to: writeMinutes(to) }
}
