/** A button that copies a text to the clipboard and says so. */
import { useEffect, useState } from 'preact/hooks'
import { IconButton } from './button.tsx'

export function Copy({ text, label = 'Copy' }: { readonly text: string | (() => string); readonly label?: string }) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = async () => {
    await copyText(typeof text === 'string' ? text : text())
    setCopied(true)
  }
  return (
    <IconButton
      icon={copied ? 'check' : 'copy'}
      label={copied ? 'Copied' : label}
      size="small"
      aria-live="polite"
      onClick={copy}
    />
  )
}

/** Without https browsers have no clipboard API, except on localhost. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) {
    await navigator.clipboard.writeText(text)
    return
  }
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'visually-hidden'
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
