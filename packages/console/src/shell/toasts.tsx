/** Short messages that say what happened. Errors stay until they are closed. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Button, explain, Icon, IconButton } from '../ui/index.ts'

export interface ToastOptions {
  readonly kind?: 'good' | 'info' | 'error'
  /** A button after the text, for example to undo what was done. */
  readonly action?: { readonly title: string; readonly act: () => void }
}

interface Toast extends ToastOptions {
  readonly id: number
  readonly text: ComponentChildren
}

const toasts = signal<readonly Toast[]>([])
const SHOWN_MS = 6000
const MOST = 4
let lastId = 0

/** Says what happened: `toast('Bob was disabled')`. */
export function toast(text: ComponentChildren, options: ToastOptions = {}): void {
  const id = ++lastId
  toasts.value = [...toasts.value.slice(1 - MOST), { id, text, ...options }]
  if (options.kind !== 'error') setTimeout(() => close(id), SHOWN_MS)
}

/** Says that something failed, with the code and the request id. */
export function toastError(error: unknown, title = 'Something went wrong'): void {
  const { message, code, requestId } = explain(error)
  const facts = [code, requestId && `request ${requestId}`].filter((fact) => fact !== undefined)
  toast(
    <>
      <strong>{title}.</strong> {message} {facts.length > 0 && <code>{facts.join(' · ')}</code>}
    </>,
    { kind: 'error' },
  )
}

function close(id: number): void {
  toasts.value = toasts.value.filter((shown) => shown.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="log" aria-label="Messages" aria-live="polite">
      {toasts.value.map(({ id, text, kind = 'good', action }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === 'good' ? 'check' : kind} />
          <div class="toast-text">{text}</div>
          {action !== undefined && (
            <Button
              size="small"
              onClick={() => {
                close(id)
                action.act()
              }}
            >
              {action.title}
            </Button>
          )}
          <IconButton icon="close" label="Close the message" size="small" onClick={() => close(id)} />
        </div>
      ))}
    </div>
  )
}
