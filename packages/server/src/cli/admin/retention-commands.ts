/** `gatehouse retention list|set|run|hold|release` */
import { UsageError } from '../errors.ts'
import { asObject } from '../output/json.ts'
import { list, named } from './actions.ts'
import type { AdminCommand } from './admin-command.ts'

const RETENTION = '/admin/retention'

export const RETENTION_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'retention list',
    summary: 'Lists the tables with a retention, and those that are held; needs --server.',
    examples: ['retention list --server https://gate.example.com'],
    run: list(RETENTION, ['table', 'time', 'on', 'hold', 'horizon', 'cut', 'oldest', 'next', 'fault']),
  },
  {
    name: 'retention set',
    positionals: ['TABLE', 'TIME'],
    options: {
      '--on': { value: 'COLUMN', help: 'the Timestamp or Date that says how old a row is' },
      '--dry-run': { help: 'change nothing, and show which rows would be deleted' },
    },
    summary: "Sets how long the rows of a table are kept, such as '30 days'; needs --server. The time off ends it.",
    examples: [
      "retention set trades '30 days' --on executed_at --dry-run --server https://gate.example.com",
      'retention set trades off --server https://gate.example.com',
    ],
    async run({ args, request }) {
      const time = args.positionals[1] ?? ''
      const on = args.value('--on')
      if (time !== 'off' && on === undefined) throw new UsageError('--on COLUMN is required')
      const retention = time === 'off' ? null : { time, on }
      const body = { retention, ...(args.has('--dry-run') && { dry_run: true }) }
      return { kind: 'object', body: (await request('POST', named(RETENTION)(args), { body })).body }
    },
  },
  {
    name: 'retention run',
    positionals: ['TABLE'],
    summary: 'Deletes the rows of a table that are too old now, and waits for the end; needs --server.',
    examples: ['retention run trades --server https://gate.example.com'],
    async run({ args, request }) {
      const { body } = await request('POST', named(RETENTION, 'run')(args))
      const { Cut, Rows } = asObject(body)
      return { kind: 'text', text: `${args.positionals[0]}: ${Rows} rows before ${Cut} were deleted.`, body }
    },
  },
  {
    name: 'retention erase',
    positionals: ['TABLE'],
    options: {
      '--where': { value: 'CONDITION', help: 'which rows, in IQL; it is in the audit log' },
      '--parameter': {
        value: 'NAME=VALUE',
        repeatable: true,
        help: 'the value of a parameter of the condition; it is not in the audit log',
      },
      '--reason': { value: 'TEXT', help: 'why, for the audit log' },
      '--dry-run': { help: 'change nothing, and count the rows' },
    },
    summary: 'Deletes the rows of a person, also those that a retention has closed; needs --server.',
    examples: [
      "retention erase orders --where 'customer = :c' --parameter c=4711 --reason 'request 12' --dry-run --server https://gate.example.com",
    ],
    confirm: ([table]) => `Delete rows of ${table} for ever?`,
    async run({ args, request }) {
      const [where, reason] = [args.value('--where'), args.value('--reason')]
      if (where === undefined) throw new UsageError('--where CONDITION is required')
      if (reason === undefined) throw new UsageError('--reason TEXT is required')
      const isDryRun = args.has('--dry-run')
      const parameters = Object.fromEntries(args.pairs('--parameter'))
      const { body } = await request('POST', named(RETENTION, 'erase')(args), {
        body: { where, parameters, reason, dry_run: isDryRun },
      })
      const { Rows } = asObject(body)
      return {
        kind: 'text',
        text: `${args.positionals[0]}: ${Rows} rows ${isDryRun ? 'would be' : 'were'} deleted.`,
        body,
      }
    },
  },
  holdCommand('hold', true, 'Holds a table: none of its rows can be deleted, nor the table; needs --server.'),
  holdCommand('release', false, 'Releases a table that is held; needs --server.'),
]

function holdCommand(word: string, hold: boolean, summary: string): AdminCommand {
  return {
    name: `retention ${word}`,
    positionals: ['TABLE'],
    summary,
    examples: [`retention ${word} trades --server https://gate.example.com`],
    async run({ args, request }) {
      const { body } = await request('POST', named(RETENTION)(args), { body: { hold } })
      return { kind: 'text', text: `${args.positionals[0]} is ${hold ? 'held' : 'no longer held'}.`, body }
    },
  }
}
