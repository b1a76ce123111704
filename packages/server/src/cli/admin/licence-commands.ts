/** The commands about licences that follow from no definition, and the options of agreements and entitlements that read files or pairs. */
import { readFileSync } from 'node:fs'
import { UsageError } from '../errors.ts'
import { type AdminCommand, PAGE_OPTIONS, pagePath, segment, withoutUndefined } from './admin-command.ts'
import type { ReadOthers } from './resource-commands.ts'

export const LICENCE_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'product subjects',
    positionals: ['PRODUCT'],
    options: PAGE_OPTIONS,
    summary: 'Lists who has what of a product now, and why.',
    examples: ['product subjects NYSE.L1'],
    async run({ args, request }) {
      const path = pagePath(`/admin/products/${segment(args.positionals[0] ?? '')}/subjects`, args, {})
      const { body } = await request('GET', path)
      return { kind: 'table', columns: ['username', 'access', 'reason', 'until', 'kind', 'status'], body }
    },
  },
  {
    name: 'product places',
    positionals: ['PRODUCT'],
    options: { '--user': { value: 'USER', help: 'only those of a user' }, ...PAGE_OPTIONS },
    summary: 'Lists the sign-ins and programs that use a product now.',
    examples: ['product places NYSE.L1'],
    async run({ args, request }) {
      const path = pagePath('/admin/places', args, { product: args.positionals[0], user: args.value('--user') })
      const { body } = await request('GET', path)
      return { kind: 'table', columns: ['username', 'client', 'access', 'since', 'session'], body }
    },
  },
  {
    name: 'agreement accept',
    positionals: ['AGREEMENT', 'VERSION'],
    options: {
      '--user': { value: 'USER', help: 'the user who has accepted it' },
      '--client': { value: 'CLIENT', help: 'the client for which it was accepted' },
      '--note': { value: 'TEXT', help: 'where the paper is' },
    },
    summary: 'Records that a user or client has accepted an agreement, such as on paper.',
    examples: ['agreement accept nyse-subscriber 2026-01 --user alice --note "signed, cabinet 4"'],
    async run({ args, request }) {
      const [id = '', version] = args.positionals
      const [user, client, note] = [args.value('--user'), args.value('--client'), args.value('--note')]
      const body = withoutUndefined({ user, client, version, note })
      const reply = await request('POST', `/admin/agreements/${segment(id)}/acceptances`, { body })
      return { kind: 'text', text: `Recorded that ${user ?? client} has accepted ${id} ${version}.`, body: reply.body }
    },
  },
  {
    name: 'usage close',
    positionals: ['MONTH'],
    options: { '--zone': { value: 'ZONE', help: 'the time zone of the month (default UTC)' } },
    summary: 'Records the SHA-256 of the usage report of a month in the audit log.',
    examples: ['usage close 2026-11'],
    async run({ args, request }) {
      const zone = args.value('--zone')
      const query = zone === undefined ? '' : `?${new URLSearchParams({ zone })}`
      const { body } = await request('POST', `/admin/usage/${segment(args.positionals[0])}/close${query}`)
      return { kind: 'object', body }
    },
  },
  {
    name: 'user professional',
    positionals: ['USER', 'true|false|undeclared'],
    summary: 'Records whether a user is a professional; undeclared leaves it to the user again.',
    examples: ['user professional alice false'],
    async run({ args, request }) {
      const [user = '', given = ''] = args.positionals
      const values = new Map([
        ['true', true],
        ['false', false],
        ['undeclared', null],
      ])
      const professional = values.get(given)
      if (professional === undefined) throw new UsageError('Write true, false or undeclared')
      await request('PUT', `/admin/users/${segment(user)}/professional`, { body: { professional } })
      return { kind: 'text', text: `Whether ${user} is a professional: ${given}.` }
    },
  },
]

/** `--text en=nyse.en.md` */
export const readAgreementTexts: ReadOthers = ({ args }) => {
  const texts = args.values('--text').map((pair) => {
    const [language, file] = splitPair(pair, '--text')
    try {
      return [language, readFileSync(file, 'utf8')] as const
    } catch (error) {
      throw new UsageError(`The file ${file} cannot be read: ${error instanceof Error ? error.message : error}`)
    }
  })
  return texts.length === 0 ? {} : { text: Object.fromEntries(texts) }
}

/** `--attribute firm=ACME`: a number or true where it is written so. */
export const readEntitlementAttribute: ReadOthers = ({ args }, command) => {
  const pair = command === 'add' ? args.value('--attribute') : undefined
  if (pair === undefined) return {}
  const [name, text] = splitPair(pair, '--attribute')
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : text === 'true' || text === 'false' ? text === 'true' : text
  return { attribute: { [name]: value } }
}

function splitPair(pair: string, option: string): readonly [string, string] {
  const at = pair.indexOf('=')
  if (at < 1 || at === pair.length - 1) throw new UsageError(`${option} ${pair}: write NAME=VALUE`)
  return [pair.slice(0, at), pair.slice(at + 1)]
}
