/** The session of a connection after sign-in: what each message does in each state (PostgreSQL 55.2, Message Flow). */
import { randomBytes } from 'node:crypto'
import { Refusal } from 'gatehouse-protocol'
import { refuse } from '../../query/index.ts'
import type { FrontendMessage } from '../protocol/messages.ts'
import { EMPTY_QUERY_RESPONSE, errorResponse, parameterStatus, readyForQuery } from '../protocol/replies.ts'
import { Commands } from './commands/commands.ts'
import { NamedCommands } from './commands/named-commands.ts'
import { Settings, startSettings } from './commands/settings.ts'
import type { Later, OpenSession, Session, SessionCaller, SessionEnv, SessionOutput } from './contract.ts'
import type { CopyCommand } from './copy/copy-command.ts'
import { CopyIn, type CopyInEnv } from './copy/copy-in.ts'
import { ExtendedQuery } from './extended-query.ts'
import { FAULT, toErrorFields, WireError } from './failure.ts'
import type { Portal, Protocol } from './portal/portal.ts'
import { type PortalRunEnv, runPortal } from './portal/portal-run.ts'
import { Portals } from './portal/portals.ts'
import { Replies } from './replies.ts'
import { Runner } from './runner.ts'
import { SimpleQuery } from './simple-query.ts'
import { CatalogueStatements } from './statement/catalogue-statement.ts'
import { createPrepare, PreparedStatements } from './statement/prepared-statement.ts'
import { TransactionBlock } from './transaction/block.ts'
import { InsertPipeline } from './transaction/insert-pipeline.ts'

export function createSessions(env: SessionEnv): OpenSession {
  return (caller, output) => new WireSession(env, caller, output)
}

/** Whether a transaction block is open, or has failed, is the status of the TransactionBlock: it decides which statements run, not what a message is. */
type State =
  | { readonly kind: 'ready' }
  /** The client sends the rows of a COPY; `rest` is what follows it in its Query. */
  | { readonly kind: 'copy-in'; readonly copy: CopyIn; readonly protocol: Protocol; readonly rest?: () => Later }
  /** After an error of the extended protocol. */
  | { readonly kind: 'skip-until-sync' }

const READY: State = { kind: 'ready' }

class WireSession implements Session {
  readonly #env: SessionEnv
  readonly #caller: SessionCaller
  readonly #output: SessionOutput
  readonly #settings: Settings
  readonly #block: TransactionBlock
  readonly #replies: Replies
  readonly #runner: Runner
  readonly #portals: Portals
  readonly #pipeline: InsertPipeline
  readonly #commands: Commands
  readonly #simple: SimpleQuery
  readonly #extended: ExtendedQuery
  readonly #parts: PortalRunEnv & CopyInEnv
  #state: State = READY
  #isBusy = false

  constructor(env: SessionEnv, caller: SessionCaller, output: SessionOutput) {
    this.#env = env
    this.#caller = caller
    this.#output = output
    const fixed = { server_version: `15.0 (Gatehouse ${env.version})`, session_authorization: caller.user }
    const settings = new Settings(fixed, (name, value) => output.write(parameterStatus(name, value)))
    const block = new TransactionBlock(caller.memory, settings, env.allowsWrites)
    const replies = new Replies(output, caller.memory)
    const runner = new Runner(env, caller, settings, output, randomBytes(12).toString('base64url'))
    const pipeline = new InsertPipeline(caller.memory, replies, runner)
    const portals = new Portals(caller.memory, runner)
    const statements = new PreparedStatements(caller.memory)
    const catalogue = new CatalogueStatements(env, caller, runner)
    const prepare = createPrepare({ runner, block })
    const parts = { env, caller, settings, block, replies, runner, pipeline, portals, statements, catalogue, prepare }
    const commands = new Commands({
      ...parts,
      named: new NamedCommands(parts),
      beginCopyIn: (command, protocol) => this.#beginCopyIn(command, protocol),
    })
    const execute = (portal: Portal, maxRows: number, protocol: Protocol) => this.#execute(portal, maxRows, protocol)
    this.#settings = settings
    this.#block = block
    this.#replies = replies
    this.#runner = runner
    this.#pipeline = pipeline
    this.#portals = portals
    this.#parts = parts
    this.#commands = commands
    this.#extended = new ExtendedQuery({ ...parts, execute })
    this.#simple = new SimpleQuery({
      ...parts,
      execute,
      continueAfterCopy: (rest) => this.#continueAfterCopy(rest),
      endImplicit: () => commands.endImplicit(),
      onDone: () => this.#ready(),
    })
  }

  begin(): void {
    try {
      for (const [name, value] of startSettings(this.#caller.startup)) this.#settings.start(name, value)
    } catch (error) {
      const fields = toErrorFields(error, this.#runner.requestId) ?? FAULT
      this.#output.write(errorResponse({ ...fields, severity: 'FATAL' }))
      this.#output.close()
      return
    }
    this.#settings.reportAll()
    this.#output.write(readyForQuery('I'))
  }

  get isIdle(): boolean {
    return !this.#isBusy && !this.#block.isOpen && this.#state.kind !== 'copy-in'
  }

  cancel(): void {
    this.#runner.cancel(CANCELLED)
    if (this.#state.kind === 'copy-in') this.#state.copy.cancel(refuse('Limit.Cancelled', CANCELLED))
  }

  end(): void {
    this.#runner.end()
    if (this.#state.kind === 'copy-in') this.#state.copy.abort(COPY_ENDED)
    this.#portals.closeAll()
    this.#replies.end()
  }

  handle(message: FrontendMessage): Later {
    this.#isBusy = true
    let later: Later
    try {
      later = this.#dispatch(message)
    } catch (error) {
      later = this.#fail(error, messageProtocol(message))
    }
    if (later === undefined) {
      this.#isBusy = false
      return undefined
    }
    return later
      .catch((error) => this.#fail(error, messageProtocol(message)))
      .finally(() => {
        this.#isBusy = false
      })
  }

  // ── States and messages ───────────────────────────────────────────────────────────────────────────────────────────

  #dispatch(message: FrontendMessage): Later {
    if (message.kind === 'terminate') {
      this.#output.close()
      return undefined
    }
    switch (this.#state.kind) {
      case 'ready':
        return this.#whenReady(message)
      case 'copy-in':
        return this.#duringCopyIn(message, this.#state.copy)
      case 'skip-until-sync':
        return message.kind === 'sync' ? this.#sync() : undefined
    }
  }

  #whenReady(message: Exclude<FrontendMessage, { kind: 'terminate' }>): Later {
    switch (message.kind) {
      case 'query':
        return this.#simple.run(message.text)
      case 'parse':
        return this.#extended.parse(message)
      case 'bind':
        return this.#extended.bind(message)
      case 'describe':
        return this.#extended.describe(message.of, message.name)
      case 'execute':
        return this.#extended.execute(message.portal, message.maxRows)
      case 'close':
        return this.#extended.close(message.of, message.name)
      case 'sync':
        return this.#sync()
      case 'flush':
        return this.#flush()
      case 'copyData':
      case 'copyDone':
      case 'copyFail':
        // What a client still sends after COPY has failed.
        return undefined
      case 'refused':
        throw new WireError(message.sqlstate, message.reason, message.hint)
    }
  }

  #duringCopyIn(message: FrontendMessage, copy: CopyIn): Later {
    switch (message.kind) {
      case 'copyData':
        return copy.push(message.bytes)
      case 'copyDone':
        return copy.end().then(() => this.#endCopyIn())
      case 'sync':
      case 'flush':
        // They may have been sent before the client knew that it has to send rows.
        return undefined
      case 'copyFail':
        throw new WireError('57014', `COPY from stdin failed: ${message.reason}`)
      default:
        throw new WireError('08P01', `The message ${message.kind} is not part of COPY`)
    }
  }

  #execute(portal: Portal, maxRows: number, protocol: Protocol): Later {
    switch (portal.kind) {
      case 'empty':
        this.#replies.write(EMPTY_QUERY_RESPONSE)
        return undefined
      case 'command': {
        const run = (): Later => this.#commands.run(portal, maxRows, protocol)
        const written = this.#pipeline.write()
        return written === undefined ? run() : written.then(run)
      }
      case 'catalogue':
      case 'iql':
        this.#block.requireUsable()
        return runPortal(portal, maxRows, { isDescribed: protocol === 'simple' }, this.#parts)
    }
  }

  /** Ends the transaction of what was sent since the last Sync, and the skipping after an error. */
  #sync(): Later {
    this.#state = READY
    const written = this.#pipeline.write()
    if (written === undefined) {
      this.#ready()
      return undefined
    }
    return written
      .catch((error) => {
        this.#portals.rollback()
        this.#report(error)
      })
      .then(() => this.#ready())
  }

  #flush(): Later {
    const written = this.#pipeline.write()
    if (written !== undefined) return written.then(() => this.#output.flush())
    this.#output.flush()
    return undefined
  }

  #ready(): void {
    if (!this.#block.isOpen) this.#portals.commit()
    if (!this.#runner.hasEnded) this.#replies.write(readyForQuery(this.#block.status))
  }

  // ── COPY … FROM STDIN ─────────────────────────────────────────────────────────────────────────────────────────────

  #beginCopyIn(command: CopyCommand, protocol: Protocol): void {
    const copy: CopyIn = new CopyIn(command, this.#parts, (error) => {
      // Otherwise the message that is being handled fails, or the client sends the rows of another COPY by now.
      if (!this.#isBusy && this.#state.kind === 'copy-in' && this.#state.copy === copy) this.#fail(error, protocol)
    })
    this.#state = { kind: 'copy-in', copy, protocol }
  }

  #continueAfterCopy(rest: () => Later): boolean {
    if (this.#state.kind !== 'copy-in') return false
    this.#state = { ...this.#state, rest }
    return true
  }

  /** An error in the rest of a Query ends the Query, although the message that led here was CopyDone. */
  async #endCopyIn(): Promise<void> {
    const rest = this.#state.kind === 'copy-in' ? this.#state.rest : undefined
    this.#state = READY
    try {
      await rest?.()
    } catch (error) {
      await this.#fail(error, 'simple')
    }
  }

  // ── Errors ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** An error ends a Query. In the extended protocol, messages are skipped up to Sync. A transaction block fails. */
  #fail(error: unknown, protocol: Protocol): Later {
    if (this.#runner.hasEnded) return undefined
    this.#pipeline.drop()
    this.#report(error)
    this.#portals.rollback()
    this.#block.fail()
    const state = this.#state
    const ended = state.kind === 'copy-in' ? state.copy.abort(COPY_ENDED) : undefined
    // The message that ended a COPY does not matter: PostgreSQL drops all up to Sync if an Execute began it.
    const isSimple = (state.kind === 'copy-in' ? state.protocol : protocol) === 'simple'
    this.#state = isSimple ? READY : { kind: 'skip-until-sync' }
    if (!isSimple) return ended
    if (ended !== undefined) return ended.then(() => this.#ready())
    this.#ready()
    return undefined
  }

  #report(error: unknown): void {
    const { requestId, sent } = this.#runner
    const fields = toErrorFields(error, requestId, sent)
    if (fields === undefined) this.#env.onError(error, requestId)
    else if (error instanceof Refusal && error.cause !== undefined) this.#env.onError(error, requestId)
    this.#replies.write(errorResponse(fields ?? { ...FAULT, detail: `server.fault, Request-Id ${requestId}` }))
  }
}

const CANCELLED = 'The statement was cancelled by its user'
const COPY_ENDED = new WireError('57014', 'COPY was ended')

function messageProtocol(message: FrontendMessage): Protocol {
  if (message.kind === 'refused') return message.endsWithReady ? 'simple' : 'extended'
  return message.kind === 'query' ? 'simple' : 'extended'
}
