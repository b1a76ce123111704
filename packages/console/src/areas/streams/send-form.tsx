/** Sends an operation: from its members, or as raw JSON. */
import type { Signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { announce } from '../../shell/announce.tsx'
import { Button, Checkbox, Keys, Segments, TextArea, TextField } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { Inspector } from './inspector.ts'

export interface Draft {
  readonly mode: 'form' | 'raw'
  readonly controller: string
  readonly topic: string
  readonly operation: 'Publish' | 'Sub' | 'Unsub'
  readonly confirm: boolean
  /** JSON; empty for none. */
  readonly data: string
  readonly raw: string
}

export const EMPTY_DRAFT: Draft = {
  mode: 'form',
  controller: 'Platform',
  topic: 'QueryServerInfo',
  operation: 'Publish',
  confirm: true,
  data: '',
  raw: '{"Controller":"Platform","Topic":"QueryServerInfo","TransactionID":1}',
}

export function SendForm({
  inspector,
  draft,
  onSent,
}: {
  readonly inspector: Inspector
  readonly draft: Signal<Draft>
  readonly onSent: () => void
}) {
  const [fault, setFault] = useState<string>()
  const { mode, controller, topic, operation, confirm, data, raw } = draft.value
  const set = (change: Partial<Draft>) => {
    draft.value = { ...draft.value, ...change }
    setFault(undefined)
  }
  const send = () => {
    try {
      inspector.send(mode === 'raw' ? raw : writeMessage(draft.value, inspector.newId()))
      setFault(undefined)
      announce(word('Sent'))
      onSent()
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error))
    }
  }
  const sendByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    send()
  }
  return (
    <form
      class="send-form"
      aria-label="Send a message"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <Segments
        label="What is written"
        value={mode}
        onValue={(value) =>
          set(value === 'raw' ? { mode: value, raw: writeMessage(draft.value, 1, true) } : { mode: value })
        }
        choices={[
          { value: 'form', title: 'Form' },
          { value: 'raw', title: 'Raw JSON' },
        ]}
      />
      {mode === 'raw' ? (
        <TextArea
          label="Message"
          rows={6}
          class="mono"
          value={raw}
          onValue={(value) => set({ raw: value })}
          onKeyDown={sendByKey}
          error={fault}
        />
      ) : (
        <>
          <div class="send-names">
            <TextField label="Controller" value={controller} onValue={(value) => set({ controller: value })} />
            <TextField label="Topic" value={topic} onValue={(value) => set({ topic: value })} />
          </div>
          <Segments
            label="Action"
            value={operation}
            onValue={(value) => set({ operation: value })}
            choices={[
              { value: 'Publish', title: 'Request' },
              { value: 'Sub', title: 'Subscribe' },
              { value: 'Unsub', title: 'Unsubscribe' },
            ]}
          />
          <TextArea
            label="Data"
            hint="JSON. Leave empty to send none."
            rows={3}
            class="mono"
            value={data}
            onValue={(value) => set({ data: value })}
            onKeyDown={sendByKey}
            error={fault}
          />
          {operation !== 'Publish' && (
            <Checkbox label="Ask for a confirmation" checked={confirm} onChecked={(value) => set({ confirm: value })} />
          )}
        </>
      )}
      <div class="send-actions">
        <Button type="submit" kind="primary">
          Send <Keys of="Mod Enter" />
        </Button>
      </div>
    </form>
  )
}

/** The JSON is kept digit for digit: large integers stay exact. `isLenient`: invalid data is left out. */
function writeMessage({ controller, topic, operation, confirm, data }: Draft, id: number, isLenient = false): string {
  const members = [`"Controller":${JSON.stringify(controller)}`, `"Topic":${JSON.stringify(topic)}`]
  if (operation !== 'Publish') members.push(`"Action":"${operation}"`)
  if (operation !== 'Publish' && confirm) members.push('"Confirm":true')
  members.push(`"TransactionID":${id}`)
  if (data.trim() !== '') {
    try {
      JSON.parse(data)
      members.push(`"Data":${data.trim()}`)
    } catch (error) {
      if (!isLenient) throw new Error(`Data is not JSON: ${(error as Error).message}`)
    }
  }
  return `{${members.join(',')}}`
}
