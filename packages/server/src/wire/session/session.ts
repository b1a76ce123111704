/** A session after sign-in: the simple and the extended protocol. */
import { randomBytes } from 'node:crypto'
import { Refusal } from 'gatehouse-protocol'
import { PlanPending, refuse, whenPlanned } from '../../query/index.ts'
import type { BindMessage, FrontendMessage, ParseMessage } from '../protocol/messages.ts'
import {
  BIND_COMPLETE,
  CLOSE_COMPLETE,
  EMPTY_QUERY_RESPONSE,
  errorResponse,
  PARSE_COMPLETE,
  parameterStatus,
  readyForQuery,
} from '../protocol/replies.ts'
import { parseCommand } from './commands/command.ts'
import { Commands } from './commands/commands.ts'
import { NamedCommands } from './commands/named-commands.ts'
import { Settings, startSettings } from './commands/settings.ts'
import type { OpenSession, Session, SessionCaller, SessionOutput } from './contract.ts'
import { copyOut } from './copy/copy-out.ts'
import type { SessionEnv } from './env.ts'
import { FAULT, failureOf, type SentText, WireError } from './failure.ts'
import { type Delivery, type Portal, UNBOUND } from './portal/portal.ts'
import { Portals } from './portal/portals.ts'
import { Replies } from './replies.ts'
import { Runner } from './runner.ts'
import { markCounted, type Prepared, PreparedStatements, prepare } from './statement/prepared-statement.ts'
import { type StatementText, splitStatements } from './statement/split.ts'
import { Block, endsBlock } from './transaction/block.ts'

const MAX_QUERY_STATEMENTS = 100

export function createSessions(env: SessionEnv): OpenSession {
  return (caller, output) => new WireSession(env, caller, output)
}

type Later = Promise<void> | undefined

class WireSession implements Session {
  readonly #env: SessionEnv
  readonly #caller: SessionCaller
  readonly #output: SessionOutput
  readonly #settings: Settings
  readonly #block: Block
  readonly #replies: Replies
  readonly #runner: Runner
  readonly #portals: Portals
  readonly #commands: Commands
  readonly #statements: PreparedStatements
  /** The statement that errors are about. */
  #sent: SentText | undefined
  /** After an error, messages are skipped up to Sync. */
  #isSkipping = false
  /** What follows a COPY in its Query. */
  #afterCopy: (() => Later) | undefined
  #isBusy = false
  #hasEnded = false

  constructor(env: SessionEnv, caller: SessionCaller, output: SessionOutput) {
    this.#env = env
    this.#caller = caller
    this.#output = output
    this.#statements = new PreparedStatements(caller.memory)
    this.#block = new Block(caller.memory)
    const fixed = { server_version: `15.0 (Gatehouse ${env.version})`, session_authorization: caller.user }
    this.#settings = new Settings(fixed, (name, value) => output.write(parameterStatus(name, value)))
    this.#replies = new Replies(output, caller.memory)
    const id = randomBytes(12).toString('base64url')
    this.#runner = new Runner(env, caller, this.#replies, this.#settings, this.#block, id)
    this.#portals = new Portals(env, caller, this.#replies, this.#runner, this.#block)
    const setSent = (sent: SentText | undefined): void => {
      this.#sent = sent
    }
    this.#commands = new Commands({
      settings: this.#settings,
      block: this.#block,
      replies: this.#replies,
      runner: this.#runner,
      portals: this.#portals,
      statements: this.#statements,
      named: new NamedCommands({
        ...{ env, caller, replies: this.#replies, runner: this.#runner, block: this.#block, setSent },
        ...{ portals: this.#portals, statements: this.#statements },
        prepare: (text, sent, types) => this.#prepare(text, sent, types),
      }),
      copyIn: {
        ...{ env, caller, replies: this.#replies, runner: this.#runner, block: this.#block },
        onFailed: (error) => {
          if (!this.#isBusy && this.#commands.isCopying) this.#fail(error, COPY_FAILED)
        },
      },
      copyOut: (command, sent) =>
        copyOut(command, sent, {
          ...{ env, caller, replies: this.#replies, runner: this.#runner, block: this.#block },
          setSent,
        }),
    })
  }

  get isIdle(): boolean {
    return !this.#isBusy && !this.#block.isOpen && !this.#commands.isCopying
  }

  begin(): void {
    try {
      for (const [name, value] of startSettings(this.#caller.startup)) this.#settings.start(name, value)
    } catch (error) {
      const fields = failureOf(error, this.#runner.requestId) ?? FAULT
      this.#output.write(errorResponse({ ...fields, severity: 'FATAL' }))
      this.#output.close()
      return
    }
    this.#settings.reportAll()
    this.#output.write(readyForQuery('I'))
  }

  cancel(): void {
    this.#runner.cancel(CANCELLED)
    this.#commands.cancelCopy(refuse('Limit.Cancelled', CANCELLED))
  }

  end(): void {
    this.#hasEnded = true
    this.#runner.end()
    this.#commands.end()
    this.#portals.closeAll()
    this.#replies.end()
  }

  handle(message: FrontendMessage): void | Promise<void> {
    if (this.#isSkipping && message.kind !== 'sync' && message.kind !== 'terminate') return
    this.#isBusy = true
    let later: Later
    try {
      later = this.#dispatch(message)
    } catch (error) {
      this.#fail(error, message)
    }
    if (later === undefined) {
      this.#isBusy = false
      return
    }
    return later
      .catch((error) => this.#fail(error, message))
      .finally(() => {
        this.#isBusy = false
      })
  }

  #dispatch(message: FrontendMessage): Later {
    if (this.#commands.isCopying && message.kind !== 'terminate') {
      return this.#commands.copyMessage(message)?.then((isLast) => {
        return isLast ? this.#continueQuery() : undefined
      })
    }
    switch (message.kind) {
      case 'query':
        return this.#query(message.text)
      case 'parse':
        this.#runner.admit()
        return this.#whenPlanned(() => this.#parse(message))
      case 'bind':
        return this.#bindWhenPlanned(message)
      case 'describe':
        return this.#describe(message.of, message.name)
      case 'execute':
        return this.#whenPlanned(() => this.#execute(message.portal, message.maxRows))
      case 'close':
        return this.#close(message.of, message.name)
      case 'sync':
        return this.#sync()
      case 'flush':
        return this.#flush()
      case 'copyData':
      case 'copyDone':
      case 'copyFail':
        // What a client still sends after COPY has failed.
        return undefined
      case 'terminate':
        this.#output.close()
        return undefined
      case 'refused':
        throw new WireError(message.sqlstate, message.reason, message.hint)
    }
  }

  // ── Extended protocol ─────────────────────────────────────────────────────────────────────────────────────────────

  #parse({ name, text, parameterTypes }: ParseMessage): Later {
    this.#sent = { text, offset: 0 }
    const prepared = this.#prepare(text, this.#sent, parameterTypes)
    markCounted(prepared)
    this.#statements.add(name, prepared)
    this.#replies.write(PARSE_COMPLETE)
    return undefined
  }

  #prepare(text: string, sent: SentText, parameterTypes: readonly number[]): Prepared {
    const statements = splitStatements(text)
    const [only, another] = statements
    if (another !== undefined)
      throw new WireError('42601', 'A prepared statement is one statement', undefined, another.offset)
    if (only === undefined) return { kind: 'empty', sent }
    const placed = { text: sent.text, offset: sent.offset + only.offset }
    this.#sent = placed
    // As in PostgreSQL, before tables and columns are looked up.
    if (this.#block.hasFailed && !endsBlock(parseCommand(only.text))) this.#block.requireUsable()
    return this.#prepareOne(only.text, placed, parameterTypes)
  }

  #prepareOne(text: string, sent: SentText, parameterTypes: readonly number[]): Prepared {
    try {
      return prepare(text, sent, parameterTypes, this.#caller.principal, this.#env)
    } catch (error) {
      // A caller who may not write gets that error, whatever else is wrong with the statement.
      const isBound = error instanceof Refusal && error.code !== 'IQL.Syntax'
      if (isBound && WRITE.test(text)) this.#runner.requireWritable()
      throw error
    }
  }

  #bindWhenPlanned(message: BindMessage): Later {
    try {
      return this.#bind(message)
    } catch (error) {
      if (!(error instanceof PlanPending)) throw error
      // The bytes of the message are reused.
      const kept = { ...message, values: message.values.map((value) => value && Buffer.from(value)) }
      return error.ready.then(() => this.#whenPlanned(() => this.#bind(kept)))
    }
  }

  #bind(message: BindMessage): Later {
    const prepared = this.#find(message.statement)
    this.#sent = undefined
    if (!(prepared.kind === 'command' && endsBlock(prepared.command))) this.#block.requireUsable()
    this.#portals.add(message.portal, this.#portals.bind(prepared, message))
    this.#replies.write(BIND_COMPLETE)
    return undefined
  }

  #find(name: string): Prepared {
    const prepared = this.#statements.get(name)
    if (prepared !== undefined) return prepared
    const what = name === '' ? 'unnamed prepared statement' : `prepared statement ${JSON.stringify(name)}`
    throw new WireError('26000', `There is no ${what}`)
  }

  #describe(of: 'statement' | 'portal', name: string): Later {
    if (of === 'portal') return this.#portals.describe(this.#portals.get(name), this.#commands)
    return this.#portals.describeStatement(this.#find(name), this.#commands)
  }

  #execute(name: string, maxRows: number): Later {
    const portal = this.#portals.get(name)
    this.#sent = portal.prepared.sent
    return this.#run(portal, maxRows, 'extended')
  }

  #run(portal: Portal, maxRows: number, protocol: 'simple' | 'extended'): Later {
    switch (portal.kind) {
      case 'empty':
        this.#replies.write(EMPTY_QUERY_RESPONSE)
        return undefined
      case 'command':
        return (
          this.#portals.writePending()?.then(() => this.#commands.run(portal, maxRows, protocol)) ??
          this.#commands.run(portal, maxRows, protocol)
        )
      case 'catalogue':
      case 'iql':
        this.#block.requireUsable()
        return this.#portals.run(portal, maxRows, DELIVERIES[protocol])
    }
  }

  #close(of: 'statement' | 'portal', name: string): Later {
    if (of === 'portal') this.#portals.close(name)
    else this.#statements.delete(name)
    this.#replies.write(CLOSE_COMPLETE)
    return undefined
  }

  #sync(): Later {
    this.#isSkipping = false
    const pending = this.#portals.writePending()
    if (pending === undefined) return this.#ready()
    return pending
      .catch((error) => {
        this.#portals.abort()
        this.#report(error)
      })
      .then(() => this.#ready())
  }

  #flush(): Later {
    const pending = this.#portals.writePending()
    if (pending !== undefined) return pending.then(() => this.#output.flush())
    this.#output.flush()
    return undefined
  }

  #ready(): undefined {
    if (!this.#block.isOpen) this.#portals.commit()
    if (!this.#hasEnded) this.#replies.write(readyForQuery(this.#block.status))
    return undefined
  }

  // ── Simple protocol ───────────────────────────────────────────────────────────────────────────────────────────────

  #query(text: string): Later {
    this.#sent = { text, offset: 0 }
    this.#statements.delete('')
    const pending = this.#portals.writePending()
    if (pending !== undefined) return pending.then(() => this.#query(text))
    const statements = splitStatements(text)
    if (statements.length > MAX_QUERY_STATEMENTS)
      throw new WireError('54000', `A Query has at most ${MAX_QUERY_STATEMENTS} statements`)
    if (statements.length === 0) this.#replies.write(EMPTY_QUERY_RESPONSE)
    return this.#runFrom(text, statements, 0)
  }

  /** Statements that are answered at once are run in one turn. */
  #runFrom(text: string, statements: readonly StatementText[], first: number): Later {
    for (let index = first; index < statements.length; index++) {
      const statement = statements[index]
      if (statement === undefined) break
      if (statements.length > 1 && !this.#block.isOpen) this.#commands.beginImplicit()
      this.#runner.admit()
      const later = this.#whenPlanned(() => this.#runSimple(text, statement))
      const next = (): Later => this.#runFrom(text, statements, index + 1)
      if (this.#commands.isCopying) {
        this.#afterCopy = next
        return later
      }
      if (later !== undefined) return later.then(next)
    }
    const end = this.#commands.endImplicit()
    return end === undefined ? this.#ready() : end.then(() => this.#ready())
  }

  /** After a COPY. An error ends the Query, although the message that led here was CopyDone. */
  async #continueQuery(): Promise<void> {
    const next = this.#afterCopy
    this.#afterCopy = undefined
    try {
      await next?.()
    } catch (error) {
      this.#fail(error, REST_OF_QUERY)
    }
  }

  #runSimple(text: string, statement: StatementText): Later {
    this.#sent = { text, offset: statement.offset }
    const prepared = this.#prepare(statement.text, this.#sent, [])
    markCounted(prepared)
    const portal = this.#portals.bind(prepared, UNBOUND)
    this.#sent = prepared.sent
    return this.#run(portal, 0, 'simple')
  }

  /** Acts again once the plan of a long statement is made. */
  #whenPlanned(act: () => Later): Later {
    const later = whenPlanned(() => (this.#hasEnded ? undefined : act()))
    return later instanceof Promise ? later : undefined
  }

  // ── Errors ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #fail(error: unknown, message: FrontendMessage): void {
    if (this.#hasEnded) return
    this.#portals.dropPending()
    this.#report(error)
    this.#commands.failed()
    const copied = this.#commands.abortCopy()
    this.#afterCopy = undefined
    const isSimple = message.kind === 'query' || (message.kind === 'refused' && message.endsWithReady)
    if (isSimple || copied === 'simple') this.#ready()
    else this.#isSkipping = true
  }

  #report(error: unknown): void {
    const { requestId } = this.#runner
    const fields = failureOf(error, requestId, this.#sent)
    if (fields === undefined) this.#env.onError(error, requestId)
    else if (error instanceof Refusal && error.cause !== undefined) this.#env.onError(error, requestId)
    this.#replies.write(errorResponse(fields ?? { ...FAULT, detail: `server.fault, Request-Id ${requestId}` }))
  }
}

const CANCELLED = 'The statement was cancelled by its user'
const WRITE = /^\s*(?:insert|update|delete|create|alter|drop)\b/i
const COPY_FAILED: FrontendMessage = { kind: 'copyFail', reason: '' }
const REST_OF_QUERY: FrontendMessage = { kind: 'query', text: '' }

const DELIVERIES: Readonly<Record<'simple' | 'extended', Delivery>> = {
  simple: { isDescribed: true },
  extended: { isDescribed: false },
}
