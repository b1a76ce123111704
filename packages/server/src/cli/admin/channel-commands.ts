/** The command about channels of alerts that follows from no definition, and the option that sets no member by itself: the secret. */
import { type AdminCommand, segment } from './admin-command.ts'
import type { ReadOthers } from './resource-commands.ts'

export const CHANNEL_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'channel test',
    positionals: ['CHANNEL'],
    summary: 'Sends a test to a channel at once, and says what came of it.',
    examples: ['channel test desk-hook --server https://gate.example.com'],
    async run({ args, request }) {
      const { body } = await request('POST', `/admin/channels/${segment(args.positionals[0] ?? '')}/test`)
      return { kind: 'object', body }
    },
  },
]

export const readChannelOptions: ReadOthers = async ({ args, readPassword }) =>
  args.has('--secret') ? { secret: await readPassword('Key or address: ') } : {}
