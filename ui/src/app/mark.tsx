/** The mark of the product: three strata. */
export function Mark() {
  return (
    <svg class="ms-mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <path d="M5 6 10 2l5 4Z" fill="#E8C367" />
      <path d="M2.5 12V9.5Q6 6.5 10 6.5t7.500 3V12Z" fill="#A2ABF4" />
      <path d="M2 13h16v5H2Z" fill="#3F5CB0" />
    </svg>
  );
}
