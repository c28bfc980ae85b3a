import { ScreenReaderText } from './announcements.tsx'

interface ButtonTextProps {
  /** The text that everybody sees. */
  text: string
  /** What screen readers say after the text, such as `migration 7`. */
  object: string
}

/**
 * The text of a button, with the object of its action for screen readers. Primer ignores the `aria-label` of a button that is loading, so
 * that its name would change with its first click.
 */
export function ButtonText({ text, object }: ButtonTextProps) {
  return (
    <>
      {text} <ScreenReaderText>{object}</ScreenReaderText>
    </>
  )
}
