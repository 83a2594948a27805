//! A small blocking server: the OpenAI API in front of one model. `http` is the one file that
//! knows tiny_http.
