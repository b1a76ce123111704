/** The inspector: topics, a form that sends any operation, and the messages in both directions. */
import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { gate } from '../../gate.ts'
import { useCommands } from '../../shell/commands.ts'
import { Badge, Button, useLoad } from '../../ui/index.ts'
import { Inspector } from './inspector.ts'
import { MessageLog } from './message-log.tsx'
import { type Draft, EMPTY_DRAFT, SendForm } from './send-form.tsx'
import { Topics, type UsableController } from './topics.tsx'

export function InspectorPage() {
  const inspector = useMemo(() => new Inspector(), [])
  const draft = useSignal<Draft>(EMPTY_DRAFT)
  const topics = useLoad(async (signal) => {
    const response = await gate.request('/Platform/topics', { signal })
    return ((await response.json()) as { items: readonly UsableController[] }).items
  }, [])
  useEffect(() => {
    inspector.connect()
    return () => inspector.disconnect()
  }, [])
  const isOpen = useComputed(
    () => inspector.state.value.state !== 'offline' || inspector.state.value.code !== undefined,
  )
  useCommands(
    () => [
      { id: 'streams.clear', title: 'Clear the messages', group: 'Streams', act: () => inspector.clear() },
      {
        id: 'streams.pause',
        title: inspector.paused.value ? 'Show messages again' : 'Pause the messages',
        group: 'Streams',
        act: () => {
          inspector.paused.value = !inspector.paused.value
        },
      },
    ],
    [],
  )
  const log = useRef<HTMLDivElement>(null)
  // On a narrow screen it is below the form, out of sight.
  const showLog = () => matchMedia(NARROW).matches && log.current?.scrollIntoView({ block: 'start' })
  const { state, reason, code } = inspector.state.value
  return (
    <div class="inspector">
      <div class="inspector-side">
        <div class="inspector-connection">
          <Badge kind={STATES[state].kind}>{STATES[state].title}</Badge>
          <span class="quiet" title={reason}>
            {code === undefined ? '' : `${code}: ${reason}`}
          </span>
          {isOpen.value ? (
            <Button size="small" icon="stop" onClick={() => inspector.disconnect()}>
              Disconnect
            </Button>
          ) : (
            <Button size="small" kind="primary" icon="play" onClick={() => inspector.connect()}>
              Connect
            </Button>
          )}
        </div>
        <SendForm inspector={inspector} draft={draft} onSent={showLog} />
        <Topics topics={topics} inspector={inspector} draft={draft} />
      </div>
      <div ref={log} class="inspector-log">
        <MessageLog inspector={inspector} />
      </div>
    </div>
  )
}

/** As in the style sheet. */
const NARROW = '(max-width: 760px)'

const STATES = {
  connecting: { title: 'Connecting …', kind: 'warning' },
  online: { title: 'Connected', kind: 'good' },
  lapsed: { title: 'Renewing access …', kind: 'warning' },
  offline: { title: 'Not connected', kind: undefined },
  ended: { title: 'Closed', kind: 'danger' },
} as const
