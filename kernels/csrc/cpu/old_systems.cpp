// What lets a library that was linked on a new system be loaded by an older one: names that newer versions of glibc and
// libstdc++ added, defined here for this library alone. The compilers that Red Hat offers for its older systems link an
// archive with such definitions. They are weak: where libstdc++ itself is linked in from its archive, its own are taken.
#include <new>
#include <sstream>

#if defined(__GLIBC__) && defined(__GLIBCXX__)

// libstdc++ reads this name of glibc 2.32 before it counts references, and spares atomic operations while a process has
// one thread. Here the answer is always no.
extern "C" {
__attribute__((visibility("hidden"), weak)) char __libc_single_threaded = 0;
}

namespace std {

__attribute__((weak)) void __throw_bad_array_new_length() { throw bad_array_new_length(); }
asm(".hidden _ZSt28__throw_bad_array_new_lengthv");  // an attribute comes too late, after libstdc++'s declaration

// Members of later standards, and constructors that take no argument.
template class basic_stringbuf<char>;
template class basic_ostringstream<char>;
template class basic_stringstream<char>;

}  // namespace std

#endif
