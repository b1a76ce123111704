/** The administration commands, as commands of the program. */
import { AGENTS } from '../../resources/agents.ts'
import { AGREEMENTS } from '../../resources/agreements.ts'
import { APIS } from '../../resources/apis.ts'
import { ATTRIBUTES } from '../../resources/attributes.ts'
import { CHANNELS } from '../../resources/channels.ts'
import { CLIENTS } from '../../resources/clients.ts'
import { CONTROLLERS } from '../../resources/controllers.ts'
import { ENTITLEMENTS } from '../../resources/entitlements.ts'
import { FEEDS } from '../../resources/feeds.ts'
import { PRODUCTS } from '../../resources/products.ts'
import { PROVIDERS } from '../../resources/providers.ts'
import { ROLES } from '../../resources/roles.ts'
import { USERS } from '../../resources/users.ts'
import type { Command } from '../command.ts'
import { list } from './actions.ts'
import type { AdminCommand } from './admin-command.ts'
import { AGENT_COMMANDS } from './agent-commands.ts'
import { readApiScopes } from './api-scopes.ts'
import { CHANNEL_COMMANDS, readChannelOptions } from './channel-commands.ts'
import { CLIENT_COMMANDS, readClientOptions } from './client-options.ts'
import { COLUMN_COMMANDS } from './column-commands.ts'
import { CONFIG_COMMANDS } from './config-commands.ts'
import { readControllerTopics } from './controller-topics.ts'
import { FEED_COMMANDS } from './feed-commands.ts'
import { LICENCE_COMMANDS, readAgreementTexts, readEntitlementAttribute } from './licence-commands.ts'
import { LINK_COMMANDS } from './link-commands.ts'
import { MAIL_COMMANDS } from './mail-commands.ts'
import { PLATFORM_COMMANDS } from './platform-commands.ts'
import { readProviderOptions } from './provider-options.ts'
import { resourceCommands } from './resource-commands.ts'
import { RETENTION_COMMANDS } from './retention-commands.ts'
import { SCIM_COMMANDS } from './scim-commands.ts'
import { readUserOptions, USER_COMMANDS } from './user-commands.ts'
import { VIEW_COMMANDS } from './view-commands.ts'

/** The order in which help lists them, before the other commands about users. */
const USER_ORDER = ['add', 'list', 'show', 'rights', 'set', 'disable', 'enable', 'password', 'remove']

export const ADMIN_COMMANDS: readonly Command[] = [
  ...[...resourceCommands(USERS, readUserOptions), ...USER_COMMANDS].sort((a, b) => userRank(a) - userRank(b)),
  ...LINK_COMMANDS,
  ...MAIL_COMMANDS,
  ...resourceCommands(CLIENTS, readClientOptions),
  ...CLIENT_COMMANDS,
  ...resourceCommands(ROLES),
  {
    name: 'scope list',
    summary: 'Lists the scopes, the resource of each, and the roles that grant it.',
    examples: ['scope list'],
    run: list('/admin/scopes', ['name', 'resource', 'roles']),
  },
  ...resourceCommands(APIS, ({ args }) => ({ scopes: readApiScopes(args) })),
  ...SCIM_COMMANDS,
  ...resourceCommands(ATTRIBUTES),
  ...resourceCommands(PROVIDERS, readProviderOptions),
  ...resourceCommands(AGENTS),
  ...AGENT_COMMANDS,
  ...resourceCommands(CONTROLLERS, ({ args }) => ({ topics: readControllerTopics(args) })),
  ...resourceCommands(FEEDS),
  ...FEED_COMMANDS,
  ...resourceCommands(PRODUCTS),
  ...resourceCommands(AGREEMENTS, readAgreementTexts),
  ...resourceCommands(ENTITLEMENTS, readEntitlementAttribute),
  ...LICENCE_COMMANDS,
  ...resourceCommands(CHANNELS, readChannelOptions),
  ...CHANNEL_COMMANDS,
  ...COLUMN_COMMANDS,
  ...RETENTION_COMMANDS,
  ...VIEW_COMMANDS,
  ...PLATFORM_COMMANDS,
  ...CONFIG_COMMANDS,
].map(toCommand)

function userRank({ name }: AdminCommand): number {
  const index = USER_ORDER.indexOf(name.slice('user '.length))
  return index === -1 ? USER_ORDER.length : index
}

export function toCommand(command: AdminCommand): Command {
  const { name, positionals = [], options, summary, examples } = command
  return {
    name,
    positionals,
    options: {
      ...options,
      '--json': { help: 'print the response as JSON' },
      ...(command.confirm === undefined ? {} : { '--yes': { help: 'do not ask for confirmation' } }),
    },
    settings: true,
    summary,
    examples,
    load: async () => {
      const { runAdminCommand } = await import('./run.ts')
      return (args) => runAdminCommand(command, args)
    },
  }
}
