/** The extended protocol: Parse, Bind, Describe, Execute and Close (PostgreSQL 55.2.3). */
import { PlanPending } from '../../query/index.ts'
import type { BindMessage, ParseMessage, StatementOrPortal } from '../protocol/messages.ts'
import { BIND_COMPLETE, CLOSE_COMPLETE, PARSE_COMPLETE } from '../protocol/replies.ts'
import type { Later } from './contract.ts'
import { type DescribeEnv, describePortal, describeStatement } from './describe.ts'
import { WireError } from './failure.ts'
import type { Portal, Protocol } from './portal/portal.ts'
import type { Runner } from './runner.ts'
import { markCounted, onlyStatement, type Prepare, type Prepared } from './statement/prepared-statement.ts'
import { endsBlock, type TransactionBlock } from './transaction/block.ts'

export interface ExtendedQueryEnv extends DescribeEnv {
  readonly runner: Runner
  readonly block: TransactionBlock
  readonly prepare: Prepare
  readonly execute: (portal: Portal, maxRows: number, protocol: Protocol) => Later
}

export class ExtendedQuery {
  readonly #env: ExtendedQueryEnv

  constructor(env: ExtendedQueryEnv) {
    this.#env = env
  }

  parse(message: ParseMessage): Later {
    this.#env.runner.admit()
    return this.#env.runner.whenPlanned(() => this.#parse(message))
  }

  #parse({ name, text, parameterTypes }: ParseMessage): Later {
    const { runner, prepare, statements, replies } = this.#env
    runner.sent = { text, offset: 0 }
    const prepared = prepare(onlyStatement(text), runner.sent, parameterTypes)
    markCounted(prepared)
    statements.add(name, prepared)
    replies.write(PARSE_COMPLETE)
    return undefined
  }

  bind(message: BindMessage): Later {
    try {
      return this.#bind(message)
    } catch (error) {
      if (!(error instanceof PlanPending)) throw error
      // The bytes of the message are reused.
      const copied = { ...message, values: message.values.map((value) => value && Buffer.from(value)) }
      return error.ready.then(() => this.#env.runner.whenPlanned(() => this.#bind(copied)))
    }
  }

  #bind(message: BindMessage): Later {
    const { runner, block, portals, replies } = this.#env
    const prepared = this.#find(message.statement)
    runner.sent = undefined
    if (!(prepared.kind === 'command' && endsBlock(prepared.command))) block.requireUsable()
    portals.add(message.portal, portals.bind(prepared, message))
    replies.write(BIND_COMPLETE)
    return undefined
  }

  describe(of: StatementOrPortal, name: string): Later {
    if (of === 'portal') return describePortal(this.#env.portals.get(name), this.#env)
    return describeStatement(this.#find(name), this.#env)
  }

  execute(name: string, maxRows: number): Later {
    const { runner, portals } = this.#env
    return runner.whenPlanned(() => {
      const portal = portals.get(name)
      runner.sent = portal.prepared.sent
      return this.#env.execute(portal, maxRows, 'extended')
    })
  }

  close(of: StatementOrPortal, name: string): Later {
    const { portals, statements, replies } = this.#env
    if (of === 'portal') portals.close(name)
    else statements.delete(name)
    replies.write(CLOSE_COMPLETE)
    return undefined
  }

  #find(name: string): Prepared {
    const prepared = this.#env.statements.get(name)
    if (prepared !== undefined) return prepared
    const what = name === '' ? 'unnamed prepared statement' : `prepared statement ${JSON.stringify(name)}`
    throw new WireError('26000', `There is no ${what}`)
  }
}
