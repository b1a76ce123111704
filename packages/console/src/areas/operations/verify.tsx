/** Verification of the hash chain of the audit log, step by step, from its first row to its head. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { read, withQuery } from '../../admin/requests.ts'
import { announce } from '../../shell/announce.tsx'
import { href } from '../../shell/router.ts'
import {
  Button,
  ButtonLink,
  Copy,
  count,
  ErrorNotice,
  Form,
  Notice,
  Progress,
  Section,
  Table,
  TextField,
} from '../../ui/index.ts'
import type { VerifyStep } from './replies.ts'

interface State {
  readonly kind: 'idle' | 'running' | 'cancelled' | 'done' | 'failed'
  readonly rows: number
  /** The last row that was verified. */
  readonly seq: number
  readonly head: VerifyStep['head'] | undefined
  readonly faults: VerifyStep['faults']
  readonly error?: unknown
}

const IDLE: State = { kind: 'idle', rows: 0, seq: 0, head: undefined, faults: [] }
const STEP = '5000'
const MOST_FAULTS = 100

export function Verify() {
  const [recorded, setRecorded] = useState('')
  const [state, setState] = useState(IDLE)
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const wrong = recorded !== '' && !/^\d+:[0-9a-f]{64}$/.test(recorded.trim())
  const verify = async () => {
    if (wrong) return
    const abort = new AbortController()
    running.current = abort
    const last = await run(recorded.trim(), abort.signal, setState)
    if (last === undefined) return
    setState(last)
    announce(last.kind === 'done' ? verdict(last) : 'The verification failed')
  }
  const cancel = () => {
    running.current?.abort()
    setState({ ...state, kind: 'cancelled' })
  }
  const isRunning = state.kind === 'running'
  return (
    <Section
      title="Verify the audit log"
      about="Each row contains a hash of all rows before it. Changing or removing a row breaks the chain, and the verification finds it."
      actions={
        <ButtonLink size="small" icon="back" href={href('operations', 'audit')}>
          Audit log
        </ButtonLink>
      }
    >
      <Form class="verify" onSubmit={verify}>
        <TextField
          label="Recorded head (optional)"
          placeholder="42:0123…"
          value={recorded}
          onValue={setRecorded}
          disabled={isRunning}
          hint="A head that you stored elsewhere: it must still be in the log. Without it, a completely rewritten log looks intact."
          error={wrong ? 'A head has the form SEQ:HASH' : undefined}
        />
        {/* Two elements: one that became a submit button while it is pressed would start the verification again. */}
        {isRunning ? (
          <Button key="cancel" onClick={cancel} icon="stop">
            Cancel
          </Button>
        ) : (
          <Button key="verify" type="submit" kind="primary" icon="shield" disabled={wrong}>
            Verify
          </Button>
        )}
        {state.kind !== 'idle' && (
          <div class="verify-progress">
            <Progress
              label="Verified rows"
              value={state.kind === 'done' ? 1 : state.seq}
              of={state.kind === 'done' ? 1 : Math.max(1, state.head?.seq ?? 1)}
            />
            <span class="quiet" role="status">
              {state.kind === 'cancelled' && 'Cancelled. '}
              {count(state.rows)} rows verified
              {state.head !== undefined &&
                state.kind !== 'done' &&
                `, up to ${count(state.seq)} of ${count(state.head.seq)}`}
            </span>
          </div>
        )}
        <Verdict of={state} />
      </Form>
    </Section>
  )
}

function Verdict({ of: state }: { readonly of: State }) {
  const head = state.head === undefined ? '' : `${state.head.seq}:${state.head.hash}`
  return (
    <>
      {state.error !== undefined && <ErrorNotice error={state.error} title="The verification was interrupted" />}
      {state.kind === 'done' && state.faults.length === 0 && (
        <Notice kind="good">
          <p>{verdict(state)}</p>
          <p class="verify-head">
            Head <code>{head}</code> <Copy text={head} label="Copy the head" />
          </p>
          <p>Keep it where the operators of this server cannot change it, and verify against it next time.</p>
        </Notice>
      )}
      {state.faults.length > 0 && (
        <>
          <Notice kind="warning">
            {verdict(state)} Keep a copy of the database as it is, and compare with a backup.
          </Notice>
          <Table
            label="Faults"
            rows={state.faults}
            rowKey={({ seq, kind }) => `${seq} ${kind}`}
            columns={[
              { title: 'What', cell: ({ message }) => message },
              { title: 'Kind', cell: ({ kind }) => kind },
              { title: 'Row', kind: 'number', cell: ({ seq }) => count(seq) },
            ]}
          />
        </>
      )}
    </>
  )
}

function verdict({ faults, rows }: State): string {
  if (faults.length === 0) return `The log is intact: ${count(rows)} rows verified.`
  return faults.length === 1 ? 'The log has a fault.' : `The log has ${count(faults.length)} faults.`
}

/** Undefined when it was aborted. */
async function run(recorded: string, signal: AbortSignal, report: (state: State) => void): Promise<State | undefined> {
  let state: State = { ...IDLE, kind: 'running' }
  report(state)
  let path: string | null = withQuery('/admin/audit/verify', { head: recorded, limit: STEP })
  try {
    while (path !== null) {
      const step: VerifyStep = await read<VerifyStep>(path, signal)
      path = step.next
      state = {
        kind: 'running',
        rows: state.rows + step.rows,
        seq: path === null ? step.head.seq : Number(/[?&]from=(\d+)/.exec(path)?.[1] ?? 0),
        head: step.head,
        faults: [...state.faults, ...step.faults].slice(0, MOST_FAULTS),
      }
      if (signal.aborted) return undefined
      report(state)
    }
    return { ...state, kind: 'done' }
  } catch (error) {
    return signal.aborted ? undefined : { ...state, kind: 'failed', error }
  }
}
