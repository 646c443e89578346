/** Programs that run inside an environment, as text. */
declare module "*.pl" {
  const program: string;
  export default program;
}
