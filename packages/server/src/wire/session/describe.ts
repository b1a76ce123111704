/** Describe: the parameters and columns of a prepared statement, or the columns of a portal. */
import { type ResultColumn, TEXT } from 'gatehouse-iql'
import type { Format } from '../protocol/messages.ts'
import { NO_DATA, parameterDescription, rowDescription } from '../protocol/replies.ts'
import type { Command } from './commands/command.ts'
import type { Settings } from './commands/settings.ts'
import type { Later } from './contract.ts'
import type { Portal } from './portal/portal.ts'
import type { Portals } from './portal/portals.ts'
import type { Replies } from './replies.ts'
import { type CatalogueStatements, catalogueDescription } from './statement/catalogue-statement.ts'
import { columnFields } from './statement/iql-statement.ts'
import type { Prepared, PreparedStatements } from './statement/prepared-statement.ts'

export interface DescribeEnv {
  readonly replies: Replies
  readonly settings: Settings
  readonly statements: PreparedStatements
  readonly portals: Portals
  readonly catalogue: CatalogueStatements
}

export function describePortal(portal: Portal, env: DescribeEnv): Later {
  return describeRows(portal.prepared, resultFormats(portal), env)
}

function resultFormats(portal: Portal): readonly Format[] {
  switch (portal.kind) {
    case 'empty':
      return []
    case 'command':
      return portal.formats
    case 'iql':
      return portal.bound.formats
    case 'catalogue':
      return portal.message.resultFormats
  }
}

export function describeStatement(prepared: Prepared, env: DescribeEnv): Later {
  const { replies, catalogue } = env
  const bound = prepared.kind === 'command' ? prepared.declared : prepared
  if (bound?.kind === 'catalogue')
    return catalogue.describe(bound).then(({ parameters, columns }) => {
      replies.write(parameterDescription(parameters))
      if (prepared !== bound) return describeRows(prepared, [], env)
      replies.write(catalogueDescription(columns, []))
      return undefined
    })
  replies.write(parameterDescription(bound?.kind === 'iql' ? bound.parameterTypes : []))
  return describeRows(prepared, [], env)
}

function describeRows(prepared: Prepared, formats: readonly Format[], env: DescribeEnv): Later {
  const { replies, settings, catalogue } = env
  switch (prepared.kind) {
    case 'empty':
      replies.write(NO_DATA)
      return undefined
    case 'command': {
      const returned = returnedRows(prepared.command, env)
      if (returned !== undefined) return describeRows(returned, formats, env)
      replies.write(describeCommand(prepared.command, formats, settings) ?? NO_DATA)
      return undefined
    }
    case 'iql':
      replies.write(prepared.describe(formats) ?? NO_DATA)
      return undefined
    case 'catalogue':
      return catalogue.describe(prepared).then(({ columns }) => {
        replies.write(catalogueDescription(columns, formats))
      })
  }
}

/** The statement whose rows EXECUTE or FETCH returns; undefined as well where there is none of that name. */
function returnedRows(command: Command, { statements, portals }: DescribeEnv): Prepared | undefined {
  if (command.kind === 'execute') return statements.get(command.name)
  return command.kind === 'fetch' ? portals.find(command.name)?.prepared : undefined
}

/** The rows of SHOW; undefined for commands without rows. */
export function describeCommand(command: Command, formats: readonly Format[], settings: Settings): Buffer | undefined {
  switch (command.kind) {
    case 'show':
      return rowDescription(columnFields([textColumn(settings.findName(command.name))], formats))
    case 'show-all':
      return rowDescription(columnFields(['name', 'setting', 'description'].map(textColumn), formats))
    default:
      return undefined
  }
}

function textColumn(name: string): ResultColumn {
  return { name, type: TEXT, nullable: false }
}
