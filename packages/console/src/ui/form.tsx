/** Forms on a page and in a dialog, and their submission. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { Dialog, type DialogProps } from './dialog.tsx'

/** A form that the page handles; the browser sends nothing. */
export function Form({
  class: name = 'form',
  error,
  onSubmit,
  children,
}: {
  readonly class?: string
  /** Of the last attempt: the first field that it is shown at gets the focus, and comes into sight. */
  readonly error?: unknown
  readonly onSubmit: () => unknown
  readonly children: ComponentChildren
}) {
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [error])
  return (
    <form
      ref={form}
      class={name}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}

/** A dialog with a form: Cancel, and the button that submits it. */
export function FormDialog({
  action,
  danger = false,
  busy,
  disabled,
  ...dialog
}: Omit<DialogProps, 'actions'> & {
  /** The text of the button: a verb. */
  readonly action: string
  /** True where something is lost. */
  readonly danger?: boolean
  readonly busy?: boolean
  readonly disabled?: boolean
}) {
  return (
    <Dialog
      {...dialog}
      actions={
        <>
          <Button onClick={dialog.onClose}>Cancel</Button>
          <Button type="submit" kind={danger ? 'danger' : 'primary'} busy={busy} disabled={disabled}>
            {action}
          </Button>
        </>
      }
    />
  )
}

/**
 * The submission of a form. It is busy until `work` fails: after a success, the form is left. `onError` says what failed
 * where the form does not show `error`.
 */
export function useSubmit(work: () => Promise<unknown> | unknown, onError?: (error: unknown) => void) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const submit = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await work()
    } catch (failure) {
      onError?.(failure)
      setError(failure)
      setBusy(false)
    }
  }
  return { isBusy, error, setError, submit }
}
