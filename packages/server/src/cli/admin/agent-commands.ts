/** `gatehouse agent grants|end`: the agents that users have connected. */
import { listPage, remove } from './actions.ts'
import { type AdminCommand, PAGE_OPTIONS } from './admin-command.ts'

export const AGENT_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'agent grants',
    positionals: ['[USER]'],
    options: PAGE_OPTIONS,
    summary: 'Lists the agents that one user or all users have connected, newest first.',
    examples: ['agent grants', 'agent grants alice'],
    run: listPage(
      '/admin/grants',
      ['id', 'username', 'client_id', 'scopes', 'last_call_at', 'calls_today', 'expires_at'],
      (args) => ({
        agent: true,
        user: args.positionals[0],
      }),
    ),
  },
  {
    name: 'agent end',
    positionals: ['GRANT'],
    summary: 'Ends what a user allowed to an agent: its tokens are refused at once.',
    examples: ['agent end 5Tq… --yes'],
    confirm: ([grant]) => `End the grant ${grant} and its tokens?`,
    run: remove('/admin/grants', (grant) => `The grant ${grant} was ended.`),
  },
]
